// The actors of look-ups: clients who ask what became of a key, and give keys up. What they are told is judged by what an observer knows: a new key is
// called safe, and a key is given up, only if no attempt may have acted; and after the 204 none starts.

import type { Policy } from "../../../../src/kernel/record/record.ts";
import { recordId } from "../../../../src/kernel/record/units.ts";
import type { KeyReport } from "../../../../src/features/look-up/key-report.ts";
import {
  ABANDON_CALL,
  type AbandonmentAnswer,
  LOOK_UP_CALL,
} from "../../../../src/features/look-up/look-up-question.ts";
import { lookUpObject } from "../../../../src/features/look-up/object/feature.ts";
import type { ObjectFeature, ObjectKernel } from "../../../../src/kernel/object-feature.ts";
import type { Actors, OwnAnswer, SimulatedFeature } from "../../../simulation/actors.ts";
import type { Asked } from "../../../simulation/answers.ts";
import type { Choices } from "../../../simulation/choices.ts";
import type { ClientRequest } from "../../../simulation/clients.ts";
import { currentRow } from "../../../simulation/durable.ts";
import type { DrawnPlan } from "../../../simulation/plan.ts";
import { PlainResponse } from "../../../simulation/platform.ts";
import type { World } from "../../../simulation/world.ts";
import { GivenUpKeys } from "./given-up-keys.ts";

/** Clients who ask about keys, and give them up. */
const EXTRA = "look-ups";

type LookUpKind = "look up" | "give up";

export const lookUp: SimulatedFeature = {
  extras: [EXTRA],
  kinds: { "look up": 2, "give up": 3 } satisfies Record<LookUpKind, number>,
  faults: {},
  plan: (drawn) => (hasLookUps(drawn) ? { requests: drawn.requests + 2, steps: 2 * drawn.steps, jumps: false } : {}),
  begin: (world) => new LookUpActors(world),
};

/** Never where requests are accepted, or claims take their place. */
function hasLookUps({ steps, extras }: DrawnPlan): boolean {
  return steps % 5 === 4 && extras.has(EXTRA);
}

class LookUpActors implements Actors<LookUpKind> {
  readonly #world: World;
  readonly #hasLookUps: boolean;
  readonly #keys: GivenUpKeys;

  constructor(world: World) {
    this.#world = world;
    this.#hasLookUps = hasLookUps(world.plan.drawn) && world.plan.sendsRequests;
    this.#keys = new GivenUpKeys(world);
  }

  isPossible(): boolean {
    return this.#hasLookUps && this.#world.clients.requests.length > 0;
  }

  do(kind: LookUpKind, choices: Choices): void {
    const record = `r${choices.choose(this.#world.plan.records)}`;
    choices.trace(kind === "look up" ? `a client asks about ${record}` : `a client gives ${record} up`);
    if (kind === "look up") this.#lookUp(record);
    else this.#giveUp(record);
  }

  readonly object = (kernel: ObjectKernel): ObjectFeature => lookUpObject(kernel);

  #lookUp(record: string): void {
    const { shard } = this.#world.host;
    this.#world.ask("look-up", record, "same", async ({ name }) => {
      const acted = this.#keys.mayHaveActed(record);
      const answer = await shard.ask(LOOK_UP_CALL, placed(record));
      if (answer.kind !== "given") throw new TypeError("the key begins elsewhere");
      this.#keys.reports(name, record, answer.given, acted);
      return keyResponse(answer.given);
    });
  }

  #giveUp(record: string): void {
    const { disk, host } = this.#world;
    this.#world.ask("abandonment", record, "same", async ({ name, head }: ClientRequest) => {
      const policy: Policy = head.rules.policy;
      const acted = this.#keys.mayHaveActed(record);
      const hadNone = currentRow(disk, record) === null;
      const label = { key: record, route: "/" };
      const answer = await host.shard.ask(ABANDON_CALL, { placed: placed(record), label, policy });
      if (answer.kind !== "given") throw new TypeError("the key begins elsewhere");
      if (answer.given.kind === "refused") this.#keys.isRefused(name, record);
      else this.#keys.isGivenUp(name, record, acted, hadNone);
      return wordResponse(answer.given);
    });
  }

  hears(asked: Asked, response: PlainResponse): OwnAnswer | null {
    return this.#keys.hears(asked, response);
  }

  erased(record: string): () => void {
    return this.#keys.erased(record);
  }

  rests(): void {
    this.#keys.judge();
  }
}

function placed(record: string) {
  return { record: { id: recordId(record), route: "/" } };
}

function keyResponse(report: KeyReport | null): PlainResponse {
  return PlainResponse.json(report, { status: report === null ? 404 : 200 });
}

function wordResponse({ kind }: AbandonmentAnswer): PlainResponse {
  return PlainResponse.json({ kind }, { status: kind === "abandoned" ? 204 : 409 });
}
