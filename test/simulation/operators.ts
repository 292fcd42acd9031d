// An operator's decision, carried out by the gateway's own code, and what an observer knows from then on. A crash before it
// is durable undoes the decision and that knowledge.

import type { OperatorEvent } from "../../src/kernel/record/events.ts";
import type { OperatorChange } from "../../src/kernel/record/timeline.ts";
import type { RecordId } from "../../src/kernel/record/units.ts";
import { currentRow } from "./durable.ts";
import { ends } from "./ends.ts";
import { LEAST_RETENTION_MS } from "./times.ts";
import type { Host } from "./host.ts";
import type { Shard } from "./shard.ts";
import type { World } from "./world.ts";

const STATUS = 200;

/** A record, and what to call when it is erased, which returns how to undo that. */
interface Decided {
  readonly key: string;
  readonly id: RecordId;
  readonly erased: () => () => void;
}

/** Returns a short description of the result. */
export function decide(
  {
    facts,
    clock,
    rules,
    verifications = [],
  }: Pick<World, "facts" | "clock" | "rules"> & Partial<Pick<World, "verifications">>,
  host: Host,
  { key: record, id, erased }: Decided,
  action: OperatorChange,
): string {
  const { disk, name: object } = host;
  const attempt = facts.of(record).at(-1);
  const isUntried = currentRow(disk, id)?.number === 0;
  if (isUntried && action === "resolve") return "nobody has tried it";
  if (isUntried) {
    const why = changed(host.shard, id, eventOf(action), null);
    if (why === null && action === "forget") {
      facts.change({ object, gate: disk.written, done: () => undefined, undo: erased() });
    }
    return why ?? "done";
  }
  if (attempt === undefined) return "nobody has ever asked";
  const text = `${attempt.id} resolved by an operator`;
  const body = { kind: "inline", bytes: new TextEncoder().encode(text) } as const;
  const response = action === "resolve" ? { status: STATUS, statusText: "", headers: [], body } : null;
  const why = changed(host.shard, id, eventOf(action), response);
  if (why !== null) return why;
  rules.decides(action, attempt);
  if (verifications.some((one) => one.record === record && one.isOpen))
    rules.broken("G6", `an operator's ${action} of ${record} beside a question to the origin, whose answer may come`);
  const before = { ...attempt };
  const reported = facts.reported.get(record);
  const undo = (): void => void Object.assign(attempt, { ...before, isInFlight: false });
  switch (action) {
    case "release":
      attempt.isReleased = true;
      facts.change({ object, gate: disk.written, done: () => undefined, undo });
      return "done";
    case "resolve": {
      if (reported !== undefined && !reported.isForgotten && clock.latestMs < reported.untilMs) {
        rules.broken("G2", `${record} is resolved, after ${reported.text} was told`);
      }
      attempt.isResolved = true;
      attempt.wholes.push(text);
      attempt.answeredAtMs = clock.nowMs;
      attempt.resultAtMs = clock.nowMs;
      ends(attempt, clock);
      const untilMs = clock.nowMs + LEAST_RETENTION_MS;
      const { fingerprint } = attempt;
      // The operator gets the answer once the change is durable, as clients do.
      const done = (): void => {
        if (attempt.isForgotten || clock.latestMs >= untilMs) return;
        const row = facts.rows.get(record);
        if (row?.isKept !== true || row.text !== text)
          rules.broken("G2", `${record} was resolved, and has no such answer`);
        facts.reported.set(record, { text, status: STATUS, fingerprint, untilMs, isForgotten: false });
      };
      facts.change({ object, gate: disk.written, done, undo });
      return "done";
    }
    case "forget": {
      const all = facts.of(record).filter(({ isForgotten }) => !isForgotten);
      for (const one of all) one.isForgotten = true;
      if (reported !== undefined) reported.isForgotten = true;
      facts.reported.delete(record);
      const undoErased = erased();
      facts.change({
        object,
        gate: disk.written,
        done: () => undefined,
        undo: () => {
          undoErased();
          for (const one of all) one.isForgotten = false;
          if (reported === undefined) return;
          reported.isForgotten = false;
          facts.reported.set(record, reported);
        },
      });
      return "done";
    }
  }
}

export function eventOf(action: OperatorChange): OperatorEvent {
  const who = { by: "operator", reason: "chance" };
  return action === "resolve" ? { type: action, status: STATUS, ...who } : { type: action, ...who };
}

/** Makes the change. Returns why it was refused, or `null`. */
export function changed(
  { exchanges }: Shard,
  id: RecordId,
  event: OperatorEvent,
  response: Parameters<typeof exchanges.steps.change>[2],
): string | null {
  try {
    return exchanges.steps.change(id, event, response);
  } catch (error) {
    return String(error);
  }
}
