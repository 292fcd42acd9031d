// Which field a name of a form or a query belongs to. Names of one field count in their order: a server may build one value from
// all of them, or take the first, or the last.

/** What some servers read as an underscore (PHP), and what a plus sign may stand for. */
const UNDERSCORED = /[. +]/g;

/**
 * The part before the first bracket, without case and leading spaces: `item[][name]`, `item[]` and `Item` are one field. `name` is
 * decoded.
 */
export function fieldOf(name: string): string {
  const trimmed = name.replace(/^[ +]+/, "");
  const end = trimmed.slice(1).search(/[[\0]/);
  return (end === -1 ? trimmed : trimmed.slice(0, end + 1)).toLowerCase().replaceAll(UNDERSCORED, "_");
}
