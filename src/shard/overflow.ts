// A body that has outgrown the ledger, on its way into the bucket. A bucket that fails costs the replay, never the
// client's transfer: from then on the body is not kept.

import type { Bodies } from "./bodies.ts";
import type { RemoteBodies, RemoteUpload } from "./remote-bodies.ts";

export interface OverflowOptions {
  readonly name: string;
  readonly bodies: Bodies;
  readonly remote: RemoteBodies;
  /** Called once, when it is known that the body will not be kept: there is no bucket, or it failed. */
  readonly lost: () => void;
}

export class Overflow {
  readonly #options: OverflowOptions;
  #upload: RemoteUpload | null = null;

  constructor(options: OverflowOptions) {
    this.#options = options;
  }

  /** Begins with the chunks that are in the ledger already. */
  async begin(chunks: number): Promise<void> {
    const { name, bodies, remote, lost } = this.#options;
    try {
      this.#upload = await remote.begin(name);
    } catch (error) {
      report(error);
    }
    if (this.#upload === null) lost();
    for (let number = 0; this.#upload !== null && number < chunks; number++) {
      const bytes = bodies.read(name, number);
      if (bytes === null) throw new Error(`chunk ${number} of ${name} is gone`);
      await this.write(bytes);
    }
  }

  /** Takes the next bytes; they may be used again when it resolves. */
  async write(bytes: Uint8Array): Promise<void> {
    await this.#try((upload) => upload.write(bytes));
  }

  async complete(): Promise<void> {
    await this.#try((upload) => upload.complete());
  }

  async #try(use: (upload: RemoteUpload) => Promise<void>): Promise<void> {
    if (this.#upload === null) return;
    try {
      await use(this.#upload);
    } catch (error) {
      report(error);
      this.#upload = null;
      this.#options.lost();
    }
  }
}

function report(error: unknown): void {
  console.error({ message: "a body could not be put into the bucket", reason: String(error) });
}
