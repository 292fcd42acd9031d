// A multipart body on its way through a shard: it passes unchanged, and its canonical form is digested meanwhile, so that an upload
// of any size is compared by its parts and never held in memory.

import type { DigestedBody, DigestMultipart } from "../../../kernel/body/upload.ts";
import type { BodyReader, NextPiece } from "../../../kernel/request/body-reader.ts";
import { freeBytes } from "../../../kernel/request/byte-budget.ts";
import { MultipartSplitter } from "../multipart.ts";

export const digestMultipart: DigestMultipart = (body, boundary) => new DigestedMultipart(body, boundary);

class DigestedMultipart implements DigestedBody {
  readonly #body: BodyReader;
  readonly #splitter: MultipartSplitter;
  readonly #stream = new crypto.DigestStream("SHA-256");
  readonly #writer = this.#stream.getWriter();

  constructor(body: BodyReader, boundary: string) {
    this.#body = body;
    this.#splitter = new MultipartSplitter(boundary);
  }

  async next(): Promise<NextPiece> {
    const piece = await this.#body.next();
    if (piece.kind === "bytes") await this.#write(this.#splitter.push(piece.bytes));
    return piece;
  }

  cancel(): void {
    this.#body.cancel();
  }

  /** To be called when the whole body has been read. Returns `null` if it has no canonical form. */
  async digest(): Promise<Uint8Array | null> {
    const end = this.#splitter.end();
    if (end === null) return null;
    await this.#write(end);
    await this.#writer.close();
    return new Uint8Array(await this.#stream.digest);
  }

  async #write(canonical: Uint8Array): Promise<void> {
    if (canonical.byteLength === 0) return;
    await this.#writer.write(canonical);
    freeBytes(canonical);
  }
}
