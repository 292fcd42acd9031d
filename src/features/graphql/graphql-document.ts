// What a GraphQL document may do when it is executed: whether some operation that may be chosen is a mutation, and which key its
// directive @idempotent gives. What cannot be told counts as a mutation: one must never pass as something else. Reads definitions, and the
// fields of mutations; what is in deeper braces decides nothing, and is for the server to refuse.

import { type Token, tokensOf, valueText } from "./graphql-tokens.ts";

/** Where a mutation's key is. */
export type DirectiveKey =
  | { readonly kind: "text"; readonly text: string }
  /** `fallback` is its default, if it has one; `null` if that is no text. */
  | { readonly kind: "variable"; readonly name: string; readonly fallback: string | null | undefined }
  | { readonly kind: "invalid" };

export type DocumentReading =
  | { readonly kind: "other" }
  | { readonly kind: "mutation"; readonly keys: readonly DirectiveKey[] };

/**
 * Larger documents in which a mutation may be are not read, because the reading cannot pause: up to these limits the worst of them
 * takes less than a millisecond, and the first of a process, whose code is not yet compiled, about five. The second limit is needed beside the first,
 * since one character may be a token.
 */
export const MAX_DOCUMENT_LENGTH = 16 * 1024;
const MAX_TOKENS = 1000;

const UNKNOWN: DocumentReading = { kind: "mutation", keys: [] };

/** `operationNames` are all names by which a server may choose the operation; empty if none is given. */
export function readDocument(document: string, operationNames: readonly string[]): DocumentReading {
  // Some servers take the hash of a document that they know in its place.
  if (!document.includes("{")) return UNKNOWN;
  // The keyword has no other spelling.
  if (!document.includes("mutation")) return { kind: "other" };
  if (document.length > MAX_DOCUMENT_LENGTH) return UNKNOWN;
  const operations = operationsOf(document);
  if (operations === null) return UNKNOWN;
  const named = operations.filter(({ name }) => name !== null && operationNames.includes(name));
  const mutations = (named.length === 0 ? operations : named).filter(({ type }) => type === "mutation");
  return mutations.length === 0 ? { kind: "other" } : { kind: "mutation", keys: mutations.flatMap(({ keys }) => keys) };
}

interface Operation {
  readonly type: string;
  readonly name: string | null;
  /** Of its own directives and of those of its fields. */
  readonly keys: readonly DirectiveKey[];
}

const OPERATIONS: ReadonlySet<string> = new Set(["query", "mutation", "subscription"]);

/** `null` if it is no document, or has too many tokens. */
function operationsOf(document: string): readonly Operation[] | null {
  try {
    return [...new DocumentReader(tokensOf(document, MAX_TOKENS)).operations()];
  } catch {
    return null;
  }
}

/** Reads the tokens of one document, from the first to the last. Throws where they are not as the specification has them. */
class DocumentReader {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  *operations(): Generator<Operation> {
    while (this.#at < this.#tokens.length) {
      // A description.
      if (this.#text().startsWith('"')) this.#at += 1;
      if (this.#text() === "{" || OPERATIONS.has(this.#text())) yield this.#operation();
      else if (this.#takes("fragment")) this.#fragment();
      else this.#type();
    }
  }

  #operation(): Operation {
    const type = this.#text() === "{" ? "query" : this.#name();
    const name = /^[({@]/.test(this.#text()) ? null : this.#name();
    const variables = this.#text() === "(" ? this.#group("(") : [];
    const directives = [...this.#directives()];
    // Only mutations have keys.
    if (type === "mutation") directives.push(...this.#fields());
    else this.#group("{");
    return { type, name, keys: directives.map((one) => keyOf(one, variables)) };
  }

  /** Those of its fields, but not of what is in them. */
  *#fields(): Generator<readonly Token[]> {
    if (!this.#takes("{")) throw new SyntaxError("an operation without fields");
    while (!this.#takes("}")) {
      const isField = !this.#takes("...");
      if (isField) {
        this.#name();
        if (this.#takes(":")) this.#name();
        if (this.#text() === "(") this.#group("(");
      } else {
        this.#takes("on");
        if (this.#isName()) this.#at += 1;
      }
      for (const directive of this.#directives()) if (isField) yield directive;
      if (this.#text() === "{") this.#group("{");
    }
  }

  /** The arguments of each that is called @idempotent, from here on. */
  *#directives(): Generator<readonly Token[]> {
    while (this.#takes("@")) {
      const name = this.#name();
      const given = this.#text() === "(" ? this.#group("(") : [];
      if (name === "idempotent") yield given;
    }
  }

  #fragment(): void {
    this.#name();
    if (!this.#takes("on")) throw new SyntaxError("a fragment without a type");
    this.#name();
    for (const _ of this.#directives());
    this.#group("{");
  }

  /** A definition of a type, which no server executes. It ends with its braces, or there are none and it takes what follows for a part of it. */
  #type(): void {
    this.#name();
    for (let at = 0; this.#at < this.#tokens.length; at++) {
      if (this.#text() === "{") return void this.#group("{");
      // The name of a type may be this word; otherwise an operation may begin here.
      if (this.#text() === "mutation" && at > 0) throw new SyntaxError("a type without braces before a mutation");
      this.#at += this.#tokens[this.#at]?.size ?? 1;
    }
  }

  /** Empty behind the last token. */
  #text(): string {
    return this.#tokens[this.#at]?.text ?? "";
  }

  #takes(text: string): boolean {
    if (this.#text() !== text) return false;
    this.#at += 1;
    return true;
  }

  #isName(): boolean {
    return /^[A-Za-z_]/.test(this.#text());
  }

  #name(): string {
    const text = this.#text();
    if (!this.#isName()) throw new SyntaxError("no name");
    this.#at += 1;
    return text;
  }

  /** What is in the brackets that begin here. */
  #group(opening: string): readonly Token[] {
    const token = this.#tokens[this.#at];
    if (token?.text !== opening) throw new SyntaxError(`no ${opening}`);
    const begin = this.#at;
    this.#at += token.size;
    return this.#tokens.slice(begin + 1, this.#at - 1);
  }
}

function keyOf(given: readonly Token[], variables: readonly Token[]): DirectiveKey {
  const [value, name] = valueOf(given);
  if (value?.text === "$" && name !== undefined)
    return { kind: "variable", name: name.text, fallback: fallbackOf(name.text, variables) };
  const text = value === undefined ? null : valueText(value.text);
  return text === null ? { kind: "invalid" } : { kind: "text", text };
}

/** The tokens of the argument `key`, and all behind them. */
function valueOf(given: readonly Token[]): readonly Token[] {
  for (let at = 0; at < given.length;) {
    if (given[at]?.text === "key") return given.slice(at + 2);
    at += 2;
    at += given[at]?.text === "$" ? 2 : (given[at]?.size ?? 1);
  }
  return [];
}

/** A variable's default. */
function fallbackOf(name: string, variables: readonly Token[]): string | null | undefined {
  for (let at = 0; at < variables.length; at += variables[at]?.size ?? 1) {
    if (variables[at]?.text !== "$" || variables[at + 1]?.text !== name) continue;
    // `$name: Type! = "default"`; a list is a type in brackets.
    at += 3;
    at += variables[at]?.size ?? 1;
    if (variables[at]?.text === "!") at += 1;
    return variables[at]?.text === "=" ? valueText(variables[at + 1]?.text ?? "") : undefined;
  }
  return undefined;
}
