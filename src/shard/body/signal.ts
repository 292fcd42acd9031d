// Says, again and again, that something has changed; whoever waits looks for himself what it was.

export class Signal {
  #next = Promise.withResolvers<void>();

  /** Resolves at the next change. */
  get next(): Promise<void> {
    return this.#next.promise;
  }

  tell(): void {
    const { resolve } = this.#next;
    this.#next = Promise.withResolvers<void>();
    resolve();
  }
}
