// What takes long runs whole in the test project `long` (`npm run test:long`, and continuous integration), and in short in
// `npm test`: fewer runs and smaller bodies of the same tests.

export const isLong = process.env["ONCEWAY_LONG"] === "1";

/** All cases in the long run, else the first ones. */
export function few<T>(cases: readonly T[], count = 1): readonly T[] {
  return isLong ? cases : cases.slice(0, count);
}
