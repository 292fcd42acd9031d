// Guesses which name was meant where an unknown one was written. For messages only: no code may act on the guess.

/** The known name nearest to `written`, if it is near enough to be a typo; otherwise null. */
export function nearestName(written: string, known: readonly string[]): string | null {
  const plain = normalise(written);
  let nearest: string | null = null;
  let leastDistance = Math.max(1, Math.floor(plain.length / 3)) + 1;
  for (const name of known) {
    const distance = editDistance(plain, normalise(name));
    if (distance < leastDistance) {
      nearest = name;
      leastDistance = distance;
    }
  }
  return nearest;
}

/** `maxRequestBody` and `max-request-body` mean `max_request_body`. */
function normalise(name: string): string {
  return name.replace(/[-_ ]/g, "").toLowerCase();
}

/** Insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
function editDistance(one: string, other: string): number {
  let before: readonly number[] = [];
  let above: readonly number[] = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const swapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      row.push(
        Math.min(
          at(above, j) + 1,
          at(row, j - 1) + 1,
          at(above, j - 1) + (one[i - 1] === other[j - 1] ? 0 : 1),
          swapped ? at(before, j - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    before = above;
    above = row;
  }
  return at(above, other.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
