/** Runs work that pauses, without pausing. */
export function finish<T>(work: Generator<undefined, T>): T {
  return counted(work).result;
}

/** The same, with the number of pauses. */
export function counted<T>(work: Generator<undefined, T>): { readonly result: T; readonly pauses: number } {
  for (let pauses = 0; ; pauses++) {
    const step = work.next();
    if (step.done === true) return { result: step.value, pauses };
  }
}
