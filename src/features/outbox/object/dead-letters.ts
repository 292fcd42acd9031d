// The dead letters of parked messages. Each is an event of the outbox, written in the commit that ends its message's record, so
// that none is lost with the object and none is made without an end.

import { laneOf } from "../../../kernel/record/lanes.ts";
import type { DeadParkedMessage } from "../../../kernel/record/parked-message.ts";
import type { NewEvent } from "../../../kernel/record/outbox.ts";
import { type EpochMs, keyHashOf, type RecordId } from "../../../kernel/record/units.ts";
import { joinBytes } from "../../../kernel/request/body.ts";
import { deadLetter, MAX_LETTER_BYTES } from "../dead-letter.ts";
import { logFailure } from "../../../kernel/traffic/bookkeep.ts";
import type { TrafficCounters } from "../../../kernel/traffic/traffic.ts";
import type { AlertWriter } from "./alerts.ts";
import type { BodyStore } from "../../../kernel/store/bodies.ts";
import type { StoredRequest } from "../../../kernel/store/stored-request.ts";

/** No destination is called like this (features/outbox/settings/outbox-entries.ts): its name is that of the queue's binding. */
const PREFIX = "dead-letters:";

/** The binding that gets the letters of this destination; `null`: it is another destination. */
export function deadLetterBinding(destination: string): string | null {
  return destination.startsWith(PREFIX) ? destination.slice(PREFIX.length) : null;
}

export interface DeadLettersPorts {
  readonly ledger: { readonly bodies: Pick<BodyStore, "read"> };
  readonly traffic: Pick<TrafficCounters, "died">;
  readonly alerts: Pick<AlertWriter, "report">;
}

export class DeadLetters {
  readonly #ports: DeadLettersPorts;

  constructor(ports: DeadLettersPorts) {
    this.#ports = ports;
  }

  /** The letter, to be written with the end of the record. `request` is the message as it was stored. */
  letterOf(id: RecordId, dead: DeadParkedMessage, request: StoredRequest | null, now: EpochMs): NewEvent {
    const { message, reason, status } = dead;
    const body = request === null ? null : this.#bytesOf(request);
    const { letter } = deadLetter({ ...message, reason, status, recordId: id, wasParked: true }, body, new Date(now));
    const destination = PREFIX + message.binding;
    // Letters have no caller: spread over the lanes, one that its queue does not take holds up few others.
    const lane = laneOf(id);
    return { id: `${message.queue}/${message.messageId}`, destination, lane, event: letter };
  }

  /** `null` if it cannot be part of a letter. A record is not kept because its message cannot be read. */
  #bytesOf({ body }: StoredRequest): Uint8Array | null {
    if (body.kind === "inline") return body.bytes;
    if (body.size > MAX_LETTER_BYTES) return null;
    const { bodies } = this.#ports.ledger;
    const chunks = Array.from({ length: body.count }, (_, at) => bodies.read(body.body, at));
    const found = chunks.filter((chunk) => chunk !== null);
    return found.length === chunks.length ? joinBytes(found) : null;
  }

  /** The letter has been written: counts it, and tells operators. */
  report(id: RecordId, { message, reason }: DeadParkedMessage, now: EpochMs): void {
    const { queue, messageId } = message;
    logFailure("reporting a dead letter", () => {
      this.#ports.traffic.died(`queue:${queue}`, reason);
      console.error(
        JSON.stringify({ message: "parked message died", queue, messageId, keyHash: keyHashOf(id), reason }),
      );
      this.#ports.alerts.report({ alert: "dead-letter", queue, messageId, reason, recordId: id }, now);
    });
  }
}
