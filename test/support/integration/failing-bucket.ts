// A bucket that fails where the test says, and records what happened to each upload. The real one never fails.

export type Failure = "begin" | "first part" | "second part" | "complete" | "hangs" | null;

export class FailingBucket {
  readonly #failure: Failure;
  /** Keys of the uploads begun, completed and aborted, and of the objects deleted. */
  readonly begun: string[] = [];
  readonly completed: string[] = [];
  readonly aborted: string[] = [];
  readonly deleted: string[] = [];
  /** How many parts it has been given. */
  parts = 0;
  /** And how many it has taken. */
  taken = 0;

  constructor(failure: Failure) {
    this.#failure = failure;
  }

  async createMultipartUpload(key: string) {
    await this.#unless("begin");
    this.begun.push(key);
    return {
      uploadId: `upload of ${key}`,
      uploadPart: async (partNumber: number, part: ReadableStream<Uint8Array>) => {
        this.parts += 1;
        await this.#unless(partNumber === 1 ? "first part" : "second part");
        if (this.#failure === "hangs") await new Promise(() => undefined);
        await new Response(part).arrayBuffer();
        this.taken += 1;
        return { partNumber, etag: String(partNumber) };
      },
      complete: async () => {
        await this.#unless("complete");
        this.completed.push(key);
      },
    };
  }

  resumeMultipartUpload(key: string) {
    return { abort: async () => void this.aborted.push(key) };
  }

  async delete(key: string): Promise<void> {
    this.deleted.push(key);
  }

  /** Fails asynchronously, like a call over a network. */
  async #unless(failure: Failure): Promise<void> {
    await scheduler.wait(1);
    if (this.#failure === failure) throw new Error("the bucket is not there");
  }
}
