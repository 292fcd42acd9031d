// Origins that say in the body of a 201 that they did nothing, or that they may have acted; and what clients get then.

import type { BodyRule } from "../../../../src/kernel/record/verdict.ts";
import type { Actors, OwnAnswer, RequestVariant, SimulatedFeature } from "../../../simulation/actors.ts";
import type { Asked } from "../../../simulation/answers.ts";
import type { Choices } from "../../../simulation/choices.ts";
import { openCalls } from "../../../simulation/open-calls.ts";
import { act } from "../../../simulation/origin.ts";
import type { DrawnPlan } from "../../../simulation/plan.ts";
import type { PlainResponse } from "../../../simulation/platform.ts";
import type { World } from "../../../simulation/world.ts";

const EXTRA = "bodies";

const KINDS = { "answer in the body": 8 };
type Kind = keyof typeof KINDS;

export const RULES: readonly BodyRule[] = [
  { at: "/error", equals: ["refused"], is: "refused", statuses: [201] },
  { at: "/error", equals: ["ambiguous"], is: "ambiguous", statuses: [201] },
];

const VARIANT: RequestVariant = {
  what: "judged by the body",
  of: (head) => ({ ...head, rules: { ...head.rules, verdicts: RULES, uncompressed: true } }),
};

export const verdicts: SimulatedFeature = {
  extras: [EXTRA],
  kinds: KINDS,
  faults: {},
  plan: () => ({}),
  begin: (world) => new VerdictActors(world),
};

/** In two of five interleavings. */
function judgesBodies({ steps, extras }: DrawnPlan): boolean {
  return steps % 5 > 2 && extras.has(EXTRA);
}

class VerdictActors implements Actors<Kind> {
  readonly #world: World;
  readonly #isOn: boolean;

  constructor(world: World) {
    this.#world = world;
    const { plan } = world;
    this.#isOn = judgesBodies(plan.drawn) && plan.sendsRequests && plan.makesAttempts && plan.keptBytes > 100;
  }

  isPossible(): boolean {
    return this.#isOn && openCalls(this.#world.origin).answer.length > 0;
  }

  variant(): RequestVariant | null {
    return this.#isOn ? VARIANT : null;
  }

  /** "Refused" is honest: the origin has not acted and will not. */
  do(_kind: Kind, choices: Choices): void {
    const call = choices.pick(openCalls(this.#world.origin).answer);
    const drawn = choices.pick(["refused", "refused", "ambiguous"] as const);
    const says = call.hasActed ? "ambiguous" : drawn;
    if (says === "ambiguous" && !call.hasActed && choices.choose(2) === 0) act(call, this.#world.rules);
    const isWhole = choices.choose(2) === 0;
    choices.trace(
      `the origin answers ${call.attempt.id} with 201, and says "${says}"${isWhole ? "" : ", not all at once"}`,
    );
    call.answerInBody(says, `{"by":"${call.attempt.id}","error":"${says}"}`);
    if (isWhole && call.isAnswering) call.end();
  }

  /** What is no result is given once, and to those who waited for it. */
  hears({ name, sentAfter }: Asked, { headers, body }: PlainResponse): OwnAnswer | null {
    const text = typeof body === "string" ? body : body instanceof Uint8Array ? new TextDecoder().decode(body) : "";
    const [, by = "", says] = /^\{"by":"([^"]+)","error":"(\w+)"/.exec(text) ?? [];
    if (says === undefined) return null;
    const { rules, facts } = this.#world;
    if (headers.get("idempotent-replayed") !== null)
      rules.broken("G2", `${name} gets "${says}" of ${by} again, which is no result`);
    const attempt = facts.attempts.get(by);
    if (says === "refused" && (attempt?.refusedAfter ?? sentAfter) < sentAfter)
      rules.broken("G2", `${name} hears that ${by} was refused before it was sent`);
    return { what: `that ${by} is ${says}`, replacesResult: true };
  }
}
