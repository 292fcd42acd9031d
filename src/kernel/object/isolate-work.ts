// What the objects of an isolate do for which no client waits any more, or none ever did. Cloudflare lets it end by itself; a host that ends its
// isolate waits only for its clients (src/serve), so it asks here first.

/** How often it is looked whether all has ended. Nothing can wake the one who waits: the runtime lets no request end another's wait. */
const LOOK_MS = 25;

export class IsolateWork {
  #running = 0;
  #isEnding = false;

  /** From then on nothing begins that no client waits for: it stays in the store, for the next isolate. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Work begins. It counts until the function that this returns is called. */
  begin(): () => void {
    this.#running += 1;
    return () => (this.#running -= 1);
  }

  /** The isolate is about to end. The answer begins at once, and its body ends when no work runs. */
  end(): Response {
    this.#isEnding = true;
    const body = new ReadableStream<Uint8Array>({
      start: (answer) => answer.enqueue(new TextEncoder().encode("ending\n")),
      pull: async (answer) => {
        while (this.#running > 0) await scheduler.wait(LOOK_MS);
        answer.close();
      },
    });
    return new Response(body);
  }
}
