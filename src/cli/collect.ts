/** The values of an option that may be repeated, in their order. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
