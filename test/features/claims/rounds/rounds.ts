// The rounds of the proof: a consumer is killed at a point, or stopped past its lock, and another one finishes. What the
// consumers asked, what they were told, and their effects are the history that is judged.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { checkHistory, type Violation } from "../../../guarantees/check-history.ts";
import type { ConsumerOptions, Point } from "./consumer.ts";
import { type ClaimsRound, type Consumer, keyOf, startRound } from "./scene.ts";

type Broker = ConsumerOptions["broker"];
type Unknown = "hold" | "retry";

export const MESSAGES = 6;
/** The message at which the consumer is struck. */
const STRUCK = keyOf(2);
const LOCK_MS = 1500;

export interface Verdict {
  /** What the broker's messages ended with, by what their last consumer said. */
  readonly ends: Readonly<Record<string, number>>;
  readonly violations: readonly Violation[];
  /** The attempts that acted for the message that was struck. */
  readonly struck: readonly (number | null)[];
  /** Messages, other than that one, that did not take effect exactly once. */
  readonly wrong: readonly string[];
}

/** `unseen`: a message that was completed before anybody said so, and that nobody reads again. */
async function untilAllEnded(
  consumers: readonly Consumer[],
  unseen: string | null = null,
): Promise<ReadonlyMap<string, string>> {
  const wanted = Array.from({ length: MESSAGES }, (_, number) => keyOf(number)).filter((key) => key !== unseen);
  for (;;) {
    const ends = new Map(consumers.flatMap((one) => [...one.ends()]));
    if (wanted.every((key) => ends.has(key))) return ends;
    const dead = consumers.every(({ group }) => group.hasExited());
    if (dead) throw new Error(`every consumer has ended:\n${consumers.map(({ group }) => group.output()).join("\n")}`);
    await pause(50);
  }
}

async function verdictOf(round: ClaimsRound, ends: ReadonlyMap<string, string>): Promise<Verdict> {
  const keys = Array.from({ length: MESSAGES }, (_, number) => keyOf(number));
  const history = await round.history(keys);
  const acts = history.filter((event) => event.type === "consumer-effect");
  const attempts = (of: string): readonly (number | null)[] =>
    acts.flatMap(({ key, attempt }) => (key === of ? [attempt] : []));
  const counted: Record<string, number> = {};
  for (const end of ends.values()) counted[end] = (counted[end] ?? 0) + 1;
  const wrong = keys.filter((key) => key !== STRUCK && attempts(key).length !== 1);
  return { ends: counted, violations: checkHistory(history), struck: attempts(STRUCK), wrong };
}

/** The consumer is killed with SIGKILL at a point of the third message. */
export async function killRound(broker: Broker, unknown: Unknown, point: Point): Promise<Verdict> {
  const round = await startRound(broker, unknown, MESSAGES);
  try {
    const first = await round.start({ name: "first", stop: { point, key: STRUCK, until: null } });
    await first.said(`at ${point} ${STRUCK}`);
    await first.group.kill9();
    const second = await round.start({ name: "second", stop: null });
    // The position has moved with the completion, so that the message is not read again.
    const unseen = broker === "kafka" && point === "completed" ? STRUCK : null;
    const ends = await untilAllEnded([first, second], unseen);
    await second.group.kill9();
    return await verdictOf(round, ends);
  } finally {
    await round.close();
  }
}

/**
 * The consumer is stopped with SIGSTOP after its claim, past its lock, and goes on when another one has taken the message. `said`: what
 * it says then.
 */
export async function stopRound(broker: Broker): Promise<Verdict & { readonly said: string | undefined }> {
  const round = await startRound(broker, "retry", MESSAGES);
  const until = join(round.dir, "go on");
  try {
    const first = await round.start({ name: "first", stop: { point: "claimed", key: STRUCK, until } });
    await first.said(`at claimed ${STRUCK}`);
    process.kill(first.group.pid, "SIGSTOP");
    await pause(LOCK_MS);
    const second = await round.start({ name: "second", stop: null });
    const ends = await untilAllEnded([second, first]);
    await writeFile(until, "");
    process.kill(first.group.pid, "SIGCONT");
    await first.said(`SupersededError ${STRUCK}`);
    const said = first.ends().get(STRUCK);
    await Promise.all([first.group.kill9(), second.group.kill9()]);
    return { ...(await verdictOf(round, ends)), said };
  } finally {
    await round.close();
  }
}

/** A whole topic is read twice: by the group, and by one that begins at offset 0. `before`, `after`: the ledger. `later`: what a third one reads. */
export async function replayRound(
  recordsIn: (stateDir: string) => Promise<string>,
): Promise<Verdict & { readonly before: string; readonly after: string; readonly later: readonly string[] }> {
  const round = await startRound("kafka", "hold", MESSAGES);
  try {
    const first = await round.start({ name: "first", stop: null });
    await untilAllEnded([first]);
    await first.group.kill9();
    const before = await recordsIn(round.stateDir);
    const replaying = await round.start({ name: "again", stop: null, group: "others", fromStart: true });
    const ends = await untilAllEnded([replaying]);
    await replaying.group.kill9();
    const after = await recordsIn(round.stateDir);
    // A group that is new to the broker begins where this one has come to at the gateway.
    const later = await round.start({ name: "later", stop: null, group: "later" });
    await round.sendOne();
    await later.said(`done ${keyOf(MESSAGES)}`);
    await later.group.kill9();
    return { ...(await verdictOf(round, ends)), before, after, later: [...later.ends().keys()] };
  } finally {
    await round.close();
  }
}
