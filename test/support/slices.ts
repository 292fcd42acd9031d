/** Runs work that is cut into slices, without pausing between them. */
export function finish<T>(work: Generator<undefined, T>): T {
  return counted(work).result;
}

/** The same, and counts the pauses. */
export function counted<T>(work: Generator<undefined, T>): { readonly result: T; readonly pauses: number } {
  for (let pauses = 0; ; pauses++) {
    const step = work.next();
    if (step.done === true) return { result: step.value, pauses };
  }
}
