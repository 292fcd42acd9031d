// What an attempt's response becomes in the store: as it is or, on an `encrypt_responses` route, encrypted. A body is whole in memory, in the
// chunks that a spool has written, or in R2.

import type { AttemptId, BodyNumber } from "../record/units.ts";
import type { RequestEncryption } from "../encryption/encryption.ts";
import type { BodyCipher } from "../encryption/body-cipher.ts";
import type { Spool } from "../body/spool.ts";
import { ResponseEncryption } from "../encryption/encrypted-response.ts";
import type { OriginResponse } from "./origin-call.ts";
import type { KeptResponse, StoredBody, StoredResponse } from "../store/response-rows.ts";

/** Where an attempt's body is stored. */
interface BodyPlaces {
  /** In R2. */
  readonly name: AttemptId;
  readonly body: BodyNumber;
}

/** A body that has come to its end. */
export interface SpooledBody {
  readonly spool: Spool;
  readonly isRemote: boolean;
}

const EMPTY = new Uint8Array();

export class KeptForm {
  readonly #places: BodyPlaces;
  /** Begun with the attempt, so that it is ready when the origin answers; `null` if nothing is encrypted. */
  readonly #encrypting: Promise<ResponseEncryption> | null;
  #encryption: ResponseEncryption | null = null;

  constructor(encryption: RequestEncryption | undefined, places: BodyPlaces) {
    this.#places = places;
    this.#encrypting = encryption?.isOn === true ? ResponseEncryption.of(encryption) : null;
    // `ready` rejects.
    this.#encrypting?.catch(() => undefined);
  }

  /** To be awaited before anything of a response is stored; `null` if there is nothing to wait for. */
  ready(): Promise<void> | null {
    return this.#encrypting === null ? null : this.#wait(this.#encrypting);
  }

  async #wait(encrypting: Promise<ResponseEncryption>): Promise<void> {
    this.#encryption = await encrypting;
  }

  /** Encrypts what is stored besides the head; `null` for none. */
  get cipher(): BodyCipher | null {
    return this.#encryption?.cipher ?? null;
  }

  /** A response whose body is whole in memory. */
  whole(response: OriginResponse, bytes: Uint8Array): KeptResponse | Promise<KeptResponse> {
    return this.#encryption?.whole(response, bytes) ?? storedResponse(response, { kind: "inline", bytes });
  }

  /** A response whose body has been spooled, if it is encrypted. */
  async encrypted(response: OriginResponse, spooled: SpooledBody): Promise<KeptResponse | null> {
    if (this.#encryption === null) return null;
    // The last chunk comes first, because the head tells how many there are.
    await spooled.spool.flush();
    return this.#encryption.stored(response, this.#bodyOf(spooled), spooled.spool.bytes);
  }

  /** The same if it is not. */
  plain(response: OriginResponse, spooled: SpooledBody): KeptResponse {
    return storedResponse(response, this.#bodyOf(spooled));
  }

  #bodyOf({ spool: { chunks, bytes }, isRemote }: SpooledBody): StoredBody {
    const { name, body } = this.#places;
    if (isRemote) return { kind: "remote", name, size: bytes };
    if (chunks === 0) return { kind: "inline", bytes: EMPTY };
    return { kind: "chunks", body, count: chunks, size: bytes };
  }
}

function storedResponse({ status, statusText, headers }: OriginResponse, body: StoredBody): StoredResponse {
  return { status, statusText, headers, body };
}
