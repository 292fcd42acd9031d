// The bucket for large bodies, as one shard sees it. Each operation leaves when the writes before it are durable. Later
// steps decide whether it succeeds, fails, or succeeds but its answer is lost. The bucket outlives the object.

import { textOf } from "./platform.ts";

export interface BucketCall {
  readonly what: string;
  /** The write that has to be durable before the call leaves. */
  readonly gate: number;
  /** Carries it out and answers. */
  readonly finish: () => void;
  /** Fails. */
  readonly fail: () => void;
  /** Carries it out; the answer is lost. */
  readonly act: () => void;
}

interface Upload {
  readonly key: string;
  readonly parts: Map<number, string>;
}

export class Bucket {
  calls: BucketCall[] = [];
  readonly #written: () => number;
  readonly #objects = new Map<string, string>();
  readonly #uploads = new Map<string, Upload>();
  readonly #noted = new Set<string>();
  #begun = 0;

  constructor(written: () => number) {
    this.#written = written;
  }

  /** Its content: the bodies, and the uploads that the gateway has durably noted. */
  get names(): readonly string[] {
    return [...this.#objects.keys(), ...[...this.#uploads.keys()].filter((id) => this.#noted.has(id))];
  }

  /** Records that the gateway has durably noted these uploads. */
  note(uploads: readonly string[]): void {
    for (const id of uploads) this.#noted.add(id);
  }

  /** The object is gone: calls that have left it are carried out, and their answers are lost. */
  crash(durable: number): void {
    for (const { gate, act } of this.calls) if (gate <= durable) act();
    this.calls = [];
  }

  createMultipartUpload(key: string): Promise<object> {
    return this.#call(`begin ${key}`, () => {
      this.#begun += 1;
      const id = `upload ${this.#begun}`;
      this.#uploads.set(id, { key, parts: new Map() });
      return this.resumeMultipartUpload(key, id);
    });
  }

  resumeMultipartUpload(key: string, uploadId: string): object {
    const upload = (): Upload => {
      const found = this.#uploads.get(uploadId);
      if (found === undefined) throw new Error("the specified multipart upload does not exist. (10024)");
      return found;
    };
    return {
      uploadId,
      uploadPart: async (number: number, part: Uint8Array | ReadableStream<Uint8Array>) => {
        const text = await textOf(part);
        return this.#call(`part ${number} of ${key}`, () => {
          upload().parts.set(number, text);
          return { partNumber: number, etag: "" };
        });
      },
      complete: () =>
        this.#call(`complete ${key}`, () => {
          const { parts } = upload();
          this.#objects.set(key, [...parts.values()].join(""));
          this.#uploads.delete(uploadId);
          return {};
        }),
      abort: () =>
        this.#call(`abort ${key}`, () => {
          // R2's own message.
          if (!this.#uploads.delete(uploadId)) throw new Error("we encountered an internal error. (10001)");
        }),
    };
  }

  delete(key: string): Promise<void> {
    return this.#call(`delete ${key}`, () => void this.#objects.delete(key));
  }

  get(key: string, { range }: { readonly range?: { readonly offset?: number } } = {}): Promise<object | null> {
    return this.#call(`get ${key}`, () => {
      const text = this.#objects.get(key);
      return text === undefined ? null : { body: streamOf(text.slice(range?.offset ?? 0)) };
    });
  }

  #call<T>(what: string, act: () => T): Promise<T> {
    const answer = Promise.withResolvers<T>();
    // The caller may be gone.
    answer.promise.catch(() => undefined);
    const settle = (how: () => void) => (): void => {
      this.calls = this.calls.filter((one) => one !== call);
      how();
    };
    const call: BucketCall = {
      what,
      gate: this.#written(),
      finish: settle(() => {
        try {
          answer.resolve(act());
        } catch (error) {
          answer.reject(error);
        }
      }),
      fail: settle(() => answer.reject(new Error("the bucket fails"))),
      act: () => {
        try {
          act();
        } catch {
          // The answer is lost.
        }
      },
    };
    this.calls.push(call);
    return answer.promise;
  }
}

function streamOf(text: string): ReadableStream<Uint8Array> {
  return new ReadableStream({
    type: "bytes",
    start(controller) {
      controller.enqueue(new TextEncoder().encode(text));
      controller.close();
    },
  });
}
