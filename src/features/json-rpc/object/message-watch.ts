// Finds the response to a call in the event stream that the origin answers with, while the stream flows.

import { answerMemory } from "../../../kernel/body/held-answer.ts";
import type { MessageWatch, WatchMessages } from "../../../kernel/judge-body.ts";
import { MAX_PLACED_BYTES, textOfJson } from "../../../kernel/request/json-places.ts";
import { bodySlicer } from "../../../kernel/request/key-places.ts";
import { messageStream, EventReader } from "../event-reader.ts";
import { findResponseId } from "../read-call.ts";

/** As much of each stream is held without being counted. */
const UNCOUNTED_BYTES = 16 * 1024;

export const watchMessages: WatchMessages = ({ headers }, { awaitsMessage }) => {
  if (awaitsMessage !== true) return null;
  const value = (wanted: string): string => {
    const [, text = ""] = headers.find(([name]) => name.toLowerCase() === wanted) ?? [];
    return text.split(";", 1).join("").trim().toLowerCase();
  };
  if (value("content-type") !== "text/event-stream") return null;
  return ["", "identity"].includes(value("content-encoding")) ? new StreamWatch() : UNREADABLE;
};

/** What a stream is that cannot be read, its status says. */
const UNREADABLE: MessageWatch = {
  message: "unreadable",
  take: () => undefined,
  asStream: messageStream,
  free: () => undefined,
};

class StreamWatch implements MessageWatch {
  readonly #events = new EventReader(MAX_PLACED_BYTES);
  readonly #lease = answerMemory.lease(Date.now());
  message: MessageWatch["message"] = null;

  async take(bytes: Uint8Array): Promise<void> {
    if (this.message !== null) return;
    for (const { data, isMessage } of this.#events.feed(bytes)) {
      const text = data === null || !isMessage ? null : textOfJson(data);
      if (data === null && isMessage) this.message = "unreadable";
      else if (data !== null && text !== null && (await bodySlicer.run(findResponseId(text))) !== null)
        this.message = data;
      if (this.message !== null) return;
    }
    const { heldBytes } = this.#events;
    this.#lease.shrinkTo(heldBytes);
    const more = heldBytes - this.#lease.bytes;
    if (heldBytes > UNCOUNTED_BYTES && more > 0 && !this.#lease.take(more)) this.message = "unreadable";
  }

  asStream(message: Uint8Array): Uint8Array {
    return messageStream(message);
  }

  free(): void {
    this.#lease.shrinkTo(0);
  }
}
