// What a feature adds to the simulation: extras and kinds of steps, what it changes of the plan, and its actors in the world of each
// interleaving. All of them stand in one list (features.ts); nothing registers itself. The world asks each in the order of that list.

import type { OperatorChange } from "../../src/kernel/record/timeline.ts";
import type { ExchangeHead } from "../../src/kernel/request/message.ts";
import type { ObjectFeature, ObjectKernel } from "../../src/kernel/object-feature.ts";
import type { Asked } from "./answers.ts";
import type { Choices } from "./choices.ts";
import type { CurrentRow } from "./durable.ts";
import type { AttemptFacts } from "./facts.ts";
import type { DrawnPlan } from "./plan.ts";
import type { PlainResponse } from "./platform.ts";
import type { World } from "./world.ts";

export interface SimulatedFeature {
  /** What interleavings can have because of it. */
  readonly extras: readonly string[];
  /** The kinds of its steps, with their weights. */
  readonly kinds: Readonly<Record<string, number>>;
  /** The same of those that are faults. */
  readonly faults: Readonly<Record<string, number>>;
  /** What it changes of a plan. It draws nothing, so that the plan of an interleaving stays as it is without the feature. */
  readonly plan: (drawn: DrawnPlan) => Partial<DrawnPlan>;
  readonly begin: (world: World) => Actors;
}

/** How a request differs from a plain one. */
export interface RequestVariant {
  readonly what: string;
  readonly of: (head: ExchangeHead) => ExchangeHead;
}

/** An answer that no plain request gets. */
export interface OwnAnswer {
  readonly what: string;
  /** Whether a client that has got the result before should have got that again. */
  readonly replacesResult: boolean;
}

/** In one interleaving. They watch all of it, and take steps where the plan has their extras. */
export interface Actors<Kind extends string = string> {
  isPossible(kind: Kind): boolean;
  do(kind: Kind, choices: Choices): void;

  // Of the object.

  /** Its part of each instance. */
  readonly object?: (kernel: ObjectKernel) => ObjectFeature;
  /** What the object has in its environment for it. */
  readonly bindings?: Readonly<Record<string, unknown>>;
  /** What is left of it in the object. */
  left?(): readonly string[];

  // Beside the steps of requests, attempts and operators.

  /** `null`: the next request is a plain one. */
  variant?(choices: Choices): RequestVariant | null;
  /** What the route has that all requests come for, whatever their variant. */
  route?(head: ExchangeHead): ExchangeHead;
  /** An answer leaves the object. `null`: it is none of its own. */
  hears?(asked: Asked, response: PlainResponse): OwnAnswer | null;
  /**
   * An attempt starts that the object has promised. `isDue`: nobody waits for it; `delivered`: the last delivery of its request, in the
   * order of all.
   */
  starts?(attempt: AttemptFacts, row: CurrentRow, isDue: boolean, delivered: number): void;
  /** The call of such an attempt has this body. */
  carries?(attempt: AttemptFacts, text: string): void;
  /** An operator decides about a record. Returns what came of it; `null`: the decision is that about any record. */
  decide?(record: string, action: OperatorChange): string | null;
  /** People have erased a record. Returns how to undo that. */
  erased?(record: string): () => void;

  // As the object works.

  /** Opens its output gate for what is durable. */
  release?(durable: number): void;
  /** Nothing is running. */
  rests?(): void;
  /** Everything that was written is durable now. */
  commits?(): void;
  /** The object is lost. */
  crash?(): void;
  /** The clock has been put right. */
  corrects?(): void;
  /** How many timers it needs. */
  timers?(): number;
  /** When something is due for it. */
  times?(): readonly number[];

  // After the faults.

  /** One step of what is pending. Whether there was any. */
  settle?(): boolean;
  /** It sends again what may have been lost. */
  sendAgain?(): Promise<void>;
  /** It sends something for another record. Whether it has, or a request does. */
  sendAnother?(): boolean;
  /** It brings what it has begun to an end. */
  calm?(): Promise<void>;
  /** All time has passed. */
  ends?(): void;
}
