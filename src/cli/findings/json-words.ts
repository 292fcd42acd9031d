// Advice for a file in JSON. Problems say what to write as it stands in TOML (src/kernel/config); this says the same in JSON.

/** A string, which stays as it is; a header with its members, or without them; a name before a value. */
const TOML =
  /(?<text>"(?:[^"\\]|\\.)*")|(?<!\w)(?<write>write )?\[(?<list>\[)?(?<header>[A-Za-z][\w.-]*)\]\]?(?: with (?=[a-z_]+ = )(?<members>MEMBER(?:(?:, and|,| and) MEMBER)*))?|\b(?<name>[A-Za-z][\w-]*) = (?=["[{\d-]|true\b|false\b)/;

/** Values in messages have no list in a list. */
const MEMBER = /[A-Za-z][\w-]* = (?:"(?:[^"\\]|\\.)*"|\[[^\]]*\]|\{[^}]*\}|[\w.-]+)/;

const PARTS = new RegExp(TOML.source.replaceAll("MEMBER", MEMBER.source), "g");

/** `write [[vars.ROUTES]] with path = "/v1"` is `write "ROUTES": [{ "path": "/v1" }] in vars`. */
export function inJson(text: string): string {
  return text.replaceAll(PARTS, (...match) => {
    const groups: unknown = match.at(-1);
    return partInJson(match[0], new Map(Object.entries(groups ?? {})));
  });
}

function partInJson(part: string, groups: ReadonlyMap<string, unknown>): string {
  const group = (name: string): string | null => {
    const value = groups.get(name);
    return typeof value === "string" ? value : null;
  };
  const [name, header] = [group("name"), group("header")];
  if (name !== null) return `"${name}": `;
  if (header === null) return part;
  const members = group("members");
  // It names a place in the file, and nothing to write.
  if (group("write") === null && members === null) return header;
  const content = `{ ${members === null ? "…" : membersInJson(members)} }`;
  const steps = header.split(".");
  const last = steps.pop() ?? "";
  const where = steps.length === 0 ? "at the top" : `in ${steps.join(".")}`;
  return `${group("write") ?? ""}"${last}": ${group("list") === null ? content : `[${content}]`} ${where}`;
}

function membersInJson(members: string): string {
  return [...members.matchAll(new RegExp(MEMBER.source, "g"))].map(([member]) => inJson(member)).join(", ");
}
