/** The text of a problem without the name of its occurrence, which is new each time: for tests of what it must not tell apart. */
export function withoutInstance(text: string): string {
  return text.replace(/"urn:uuid:[0-9a-f-]{36}"/, '"urn:uuid:"');
}
