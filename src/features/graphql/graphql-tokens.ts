// The tokens of a GraphQL document, as its specification has them (October 2021, section 2.1, with the escapes of later drafts), and what its
// strings say. Every document that a server can read has these tokens; one that has others is not read.

export interface Token {
  /** As it is written: a string with its quotes, so that the first characters say what the token is. */
  readonly text: string;
  /** How many tokens there are from it to the bracket that closes it; 1 if it opens none. */
  readonly size: number;
}

const IGNORED = /(?:[\ufeff\t\n\r ,]|#[^\n\r]*)*/y;

const TOKEN = new RegExp(
  [
    String.raw`[A-Za-z_]\w*`,
    String.raw`"""(?:\\"""|(?!""")[^])*"""`,
    String.raw`"(?:[^"\\\n\r]|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4}|u\{[\dA-Fa-f]{1,8}\}))*"`,
    String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][+-]?\d+)?(?![\w.])`,
    String.raw`\.\.\.|[!$&():=@[\]{|}]`,
  ].join("|"),
  "y",
);

const BRACKETS: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };
const CLOSING: ReadonlySet<string> = new Set(Object.values(BRACKETS));

/** Throws if a part of the document is no token, a bracket has no partner, or there are more than `most`. */
export function tokensOf(document: string, most: number): readonly Token[] {
  const tokens: { readonly text: string; size: number }[] = [];
  const open: number[] = [];
  for (let at = after(IGNORED, document, 0); at < document.length;) {
    const end = after(TOKEN, document, at);
    const text = document.slice(at, end);
    if (text === "" || tokens.length === most) throw new SyntaxError("no token, or one too many");
    if (Object.hasOwn(BRACKETS, text)) open.push(tokens.length);
    tokens.push({ text, size: 1 });
    if (CLOSING.has(text)) {
      const begin = open.pop() ?? 0;
      const opening = tokens[begin];
      if (opening === undefined || BRACKETS[opening.text] !== text) throw new SyntaxError("a bracket too many");
      opening.size = tokens.length - begin;
    }
    at = after(IGNORED, document, end);
  }
  if (open.length > 0) throw new SyntaxError("a bracket that nothing closes");
  return tokens;
}

/** Where what matches at this place ends: there, if nothing does. */
function after(pattern: RegExp, document: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(document) ? pattern.lastIndex : at;
}

/** What a string says, or the digits of a whole number, which may stand for an ID; `null` for any other token. */
export function valueText(text: string): string | null {
  if (text.startsWith('"""')) return blockText(text.slice(3, -3));
  if (text.startsWith('"')) return text.slice(1, -1).replaceAll(ESCAPE, unescaped);
  return /^-?\d+$/.test(text) ? text : null;
}

const ESCAPE = /\\(?:u\{([\dA-Fa-f]+)\}|u([\dA-Fa-f]{4})|(.))/g;
const CONTROLS: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

function unescaped(_: string, point?: string, unit?: string, character = ""): string {
  if (point !== undefined) return String.fromCodePoint(Number.parseInt(point, 16));
  if (unit !== undefined) return String.fromCharCode(Number.parseInt(unit, 16));
  return CONTROLS[character] ?? character;
}

/** Without the indentation that its lines share, all but the first, and without empty lines around it (section 2.9.4). */
function blockText(raw: string): string {
  const lines = raw.replaceAll('\\"""', '"""').split(/\r\n|[\n\r]/);
  const indents = lines.slice(1).flatMap((line) => (isBlank(line) ? [] : [line.search(/[^\t ]/)]));
  const shared = indents.length === 0 ? 0 : Math.min(...indents);
  const texts = lines.map((line, at) => (at === 0 ? line : line.slice(shared)));
  const first = lines.findIndex((line) => !isBlank(line));
  return first === -1 ? "" : texts.slice(first, lines.findLastIndex((line) => !isBlank(line)) + 1).join("\n");
}

function isBlank(line: string): boolean {
  return /^[\t ]*$/.test(line);
}
