// What JSON says exactly. `JSON.stringify` makes `{}` of a Map, of bytes and of every private field, so that different values have one
// text: a payload's hash and a result that is kept must not be made of that.

/**
 * The value as JSON, with its members sorted, because producers write the members of an object in any order. `undefined` members are left
 * out, as JSON does, and `toJSON` counts.
 *
 * @throws {TypeError} if the value, or anything in it, has no JSON form of its own.
 */
export function exactJson(value: unknown): string {
  let text: unknown;
  try {
    text = JSON.stringify(value, (name, one: unknown) => exact(name, one));
  } catch (error) {
    // A circle, or more depth than the stack has.
    throw error instanceof RangeError ? noJson("", value) : error;
  }
  if (typeof text !== "string") throw noJson("", value);
  return text;
}

/** Called for each value, after its `toJSON`. */
function exact(name: string, value: unknown): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "undefined":
      return undefined;
    case "number":
      if (!Number.isFinite(value)) throw noJson(name, value);
      return value;
    case "object":
      return value === null ? null : Array.isArray(value) ? exactList(name, value) : exactMembers(name, value);
    case "bigint":
    case "function":
    case "symbol":
      throw noJson(name, value);
  }
}

/** `undefined` would become `null` in a list. */
function exactList(name: string, list: readonly unknown[]): readonly unknown[] {
  for (let at = 0; at < list.length; at += 1) if (list[at] === undefined) throw noJson(name, list);
  return list;
}

function exactMembers(name: string, value: object): object {
  const prototype: unknown = Object.getPrototypeOf(value);
  // A plain object, also one of another realm: an instance of a class may have more than its members.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) throw noJson(name, value);
  const members: [string, unknown][] = Object.entries(value);
  members.sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(members);
}

function noJson(name: string, value: unknown): TypeError {
  const kind = Object.prototype.toString.call(value).slice(8, -1);
  const place = name === "" ? "" : ` at ${JSON.stringify(name)}`;
  return new TypeError(`${kind} has no JSON form${place}: give text, bytes or plain JSON.`);
}
