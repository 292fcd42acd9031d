// What the broker, the origin and the gateway's database say of every message, as one history.

import type { HistoryEvent, Message, Outage } from "../../../guarantees/history.ts";
import { metaOf, policyWith } from "../../../guarantees/policy.ts";
import { eventsIn } from "../../../guarantees/recorders/broker-journal.ts";
import { sha256 } from "../../../guarantees/recorders/marks.ts";
import type { SentLine } from "../../../support/broker.ts";
import { DAY_MS } from "../../../../src/kernel/config/units.ts";
import { LOCK_MARGIN_MS, PATH, type QueueScene, type QueueSceneOptions, WAIT_MS } from "./scene.ts";

/** The shortest that the gateway allows. */
const RETENTION_MS = 4 * DAY_MS;

/** Kills the gateway. Each message's key is its id. */
export async function historyOf(
  scene: QueueScene,
  { consumer, timeoutMs, giveUpMs }: Pick<QueueSceneOptions, "consumer" | "timeoutMs" | "giveUpMs">,
  outages: readonly Outage[],
): Promise<readonly HistoryEvent[]> {
  const policy = policyWith({
    unknown: consumer === "unprotected" ? "hold" : consumer,
    duplicate: "wait",
    waitMs: WAIT_MS,
    timeoutMs,
    lockMs: timeoutMs + LOCK_MARGIN_MS,
    retentionMs: RETENTION_MS,
    unknownRetentionMs: RETENTION_MS,
    giveUpAfterMs: giveUpMs,
  });
  const look = await scene.look();
  const journal = await scene.broker.readJournal();
  return [
    metaOf(`queues, ${consumer}`, { policies: { [PATH]: policy } }),
    ...outages,
    ...journal.flatMap((line) => (line.kind === "sent" ? [messageIn(line)] : [])),
    ...eventsIn(journal),
    ...(await scene.origin.readJournal()),
    look,
    { type: "parked", at: look.at, keys: [...(await scene.parked())], isReleased: false },
  ];
}

function messageIn({ id, queue, sentAt, body }: SentLine): Message {
  const content = { fingerprint: "first", bytes: Buffer.byteLength(body), bodySha256: sha256(body) };
  return { type: "message", id, queue, path: PATH, scope: "", key: id, poison: null, ...content, sentAt };
}
