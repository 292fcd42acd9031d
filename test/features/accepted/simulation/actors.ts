// The actors of accepted requests: clients who do not wait for their results, ask monitors, and cancel there.

import type { RequestSignal } from "../../../../src/kernel/object/exchange-ports.ts";
import type { ObjectFeature, ObjectKernel } from "../../../../src/kernel/object-feature.ts";
import type { ExchangeHead } from "../../../../src/kernel/request/message.ts";
import type { MonitorQuestion } from "../../../../src/features/accepted/monitor-question.ts";
import { type AcceptedFeature, acceptedObject } from "../../../../src/features/accepted/object/feature.ts";
import type { Actors, OwnAnswer, RequestVariant, SimulatedFeature } from "../../../simulation/actors.ts";
import type { Asked } from "../../../simulation/answers.ts";
import { alarm, mostAlarms, settle } from "../../../simulation/calm.ts";
import type { Choices } from "../../../simulation/choices.ts";
import { type CurrentRow, currentRow } from "../../../simulation/durable.ts";
import type { AttemptFacts } from "../../../simulation/facts.ts";
import type { DrawnPlan } from "../../../simulation/plan.ts";
import type { PlainResponse } from "../../../simulation/platform.ts";
import type { World } from "../../../simulation/world.ts";
import { ACCEPTANCES, accepting, type Look, questionFor, withSchedule } from "./acceptance.ts";
import { Promises } from "./promises.ts";

/** Requests that are accepted: their clients do not wait, and ask monitors. */
const EXTRA = "accepted";

type AcceptedKind = "look" | "cancel";

export const accepted: SimulatedFeature = {
  extras: [EXTRA],
  kinds: { look: 2, cancel: 1 } satisfies Record<AcceptedKind, number>,
  faults: {},
  plan: (drawn) => (accepts(drawn) ? { ...roomFor(drawn.requests), steps: 2 * drawn.steps, streams: false } : {}),
  begin: (world) => new AcceptedActors(world),
};

function accepts({ steps, extras }: DrawnPlan): boolean {
  return steps % 5 < 2 && extras.has(EXTRA);
}

/** More requests than places, of more records than places, in every fourth interleaving with accepted requests. */
function roomFor(requests: number): Pick<DrawnPlan, "records" | "requests"> {
  if (requests === 5) return { records: 6, requests: 9 };
  return { records: requests === 4 ? 2 : 1, requests };
}

class AcceptedActors implements Actors<AcceptedKind> {
  readonly #world: World;
  readonly #promises: Promises;
  readonly #accepts: boolean;

  constructor(world: World) {
    this.#world = world;
    this.#promises = new Promises(world.clock, world.facts, world.rules, world.plan);
    this.#accepts = accepts(world.plan.drawn);
  }

  isPossible(): boolean {
    return this.#accepts && this.#world.clients.requests.length > 0;
  }

  do(kind: AcceptedKind, choices: Choices): void {
    const record = `r${choices.choose(this.#world.plan.records)}`;
    const fingerprint = choices.choose(4) === 0 ? "other" : "same";
    const waitMs = kind === "look" ? choices.pick([0, 0, 15]) : 0;
    choices.trace(`a ${kind} at the monitor of ${record} (${fingerprint}), for ${waitMs} ms`);
    this.#look(record, fingerprint, { cancel: kind === "cancel", waitMs });
  }

  variant(choices: Choices): RequestVariant | null {
    if (!this.#accepts) return null;
    const how = choices.pick(ACCEPTANCES);
    const what = how.accepts ? `accepted after ${how.waitMs} ms` : "waits";
    return { what, of: (head) => accepting(head, how) };
  }

  route(head: ExchangeHead): ExchangeHead {
    return this.#accepts ? { ...head, rules: withSchedule(head.rules) } : head;
  }

  readonly object = (kernel: ObjectKernel): ObjectFeature => {
    return acceptedObject(kernel);
  };

  /** Asks the running instance, and not by its call: that would be answered in a later turn, and a cancellation is judged in its own. */
  #ask(verification: MonitorQuestion, caller: RequestSignal): Promise<Response> {
    const feature = this.#world.host.shard.exchanges.features.find(answersMonitors);
    if (feature === undefined) throw new TypeError("no request is accepted");
    return feature.answerMonitor(verification, caller);
  }

  /** A client asks the monitor of a request, or cancels it there. */
  #look(record: string, fingerprint: string, { cancel, waitMs }: Pick<Look, "cancel" | "waitMs">): void {
    const { disk } = this.#world;
    this.#world.ask("monitor", record, fingerprint, (request) => {
      const look = { cancel, waitMs, promisedUntilMs: this.#promises.until(record, fingerprint) };
      this.#promises.looks(request, look);
      const before = currentRow(disk, record);
      const answer = this.#ask(questionFor(request.head, look), request.caller);
      if (cancel) this.#cancelled(record, before);
      return answer;
    });
  }

  #cancelled(record: string, before: CurrentRow | null): void {
    const { disk, facts, host } = this.#world;
    const after = currentRow(disk, record);
    // A look at a lost attempt ends its lock.
    const isChanged = after === null || (after.state === "failed" && before?.state !== "failed");
    if (before === null || !isChanged) return;
    const remember = this.#promises.cancels(record, before, after === null);
    const unerase = this.#world.erased(record);
    const undo = (): void => {
      remember();
      unerase();
    };
    facts.change({ object: host.name, gate: disk.written, done: () => undefined, undo });
  }

  hears(asked: Asked, response: PlainResponse): OwnAnswer | null {
    return this.#promises.hears(asked, response);
  }

  starts(attempt: AttemptFacts, row: CurrentRow, isDue: boolean, delivered: number): void {
    this.#promises.starts(attempt, row, isDue, delivered);
  }

  carries(attempt: AttemptFacts, text: string): void {
    this.#promises.carries(attempt, text);
  }

  erased(record: string): () => void {
    return this.#promises.erased(record, this.#world.delivered);
  }

  commits(): void {
    this.#promises.commits(this.#world.facts.rows);
  }

  /** What has been accepted is tried to its end, and then its monitor says which it was. */
  async calm(): Promise<void> {
    const { facts, disk } = this.#world;
    const isOpen = (): boolean =>
      [...facts.rows.values()].some((row) => row.accepted !== null && row.state !== "unknown");
    const most = mostAlarms(this.#world);
    for (let steps = 0; isOpen() && steps < most; steps++) {
      if (disk.durableAlarmMs === null) break;
      await alarm(this.#world, disk.durableAlarmMs);
    }
    this.#promises.ends();
    for (const [record, fingerprint] of this.#promises.records)
      this.#look(record, fingerprint, { cancel: false, waitMs: 0 });
    await settle(this.#world);
  }
}

function answersMonitors(feature: ObjectFeature): feature is AcceptedFeature {
  return "answerMonitor" in feature;
}
