// Tells keys' objects what was seen of requests. Nobody waits for it, and nothing is tried again: what fails is dropped and counted. The sightings of an
// object go together, half a second after the first, so that a busy isolate makes few calls. What waits for an object that does not answer is bounded.

import { askObject, shardStub } from "../../kernel/object/call-shard.ts";
import { type ShardAddress, shardAddressOf, shardTitle } from "../../kernel/object/shard-address.ts";
import { keyHashOf } from "../../kernel/record/units.ts";
import type { Route } from "../../kernel/config/resolved.ts";
import type { ReadPorts } from "../../kernel/request/exchange-request.ts";
import { firstOf } from "../../kernel/request/first-of.ts";
import type { WaitUntil } from "../../kernel/request/shared-work.ts";
import type { ExchangeReporter } from "../../kernel/traffic/exchange-reporter.ts";
import type { AskOperators } from "../../kernel/worker-feature.ts";
import { EXAMPLE_CALL, exampleKind, MOST_EXAMPLES, type ObservedExample } from "./example.ts";
import { readSighting, type ReadSighting } from "./read-sighting.ts";
import type { SeenRequest } from "./request-look.ts";
import {
  type CountedClass,
  type RequestSighting,
  type SightingAnswer,
  SIGHTINGS_CALL,
  type SightingQuestion,
} from "./sighting.ts";

/** An object that does not answer by then has not seen them. */
const SILENT_AFTER_MS = 5_000;

/** How long the first sighting of a batch waits for others. */
const BATCH_MS = 500;

/** A batch that is so much older was lost with the request that had begun it. */
const LOST_AFTER_MS = 5_000;

/** Sightings that wait, and those on their way. */
const MOST_PENDING = 2_000;

/** Observations are kept no longer than two days; erasing them may take an hour. */
export const MOST_KEPT_MS = 47 * 3_600_000;

/** Names of classes, by route: a configuration has some hundred routes. */
const MOST_COUNTED = 1000;

/** What an isolate counts alone. */
type CountedAlone = Parameters<ExchangeReporter["sighted"]>[1];

export interface SighterPorts {
  readonly namespace: DurableObjectNamespace;
  readonly reading: ReadPorts;
  readonly reporter: Pick<ExchangeReporter, "sighted">;
  readonly askOperators: AskOperators;
  readonly waitUntil: WaitUntil;
}

/** A sighting that waits for its batch, and what its example would be. */
interface PendingSighting {
  readonly question: SightingQuestion & { readonly sighting: RequestSighting };
  readonly problem: ReadSighting["problem"];
  readonly example: Pick<ObservedExample, "method" | "status" | "key">;
}

interface SightingBatch {
  readonly address: ShardAddress;
  readonly begunAt: number;
  readonly sightings: PendingSighting[];
}

export class SightingReporter {
  readonly #ports: SighterPorts;
  #pending = 0;
  /** Those that wait, by object. */
  readonly #batches = new Map<string, SightingBatch>();
  /** By route and name; handed over with the next batch. */
  #counted = new Map<string, CountedClass>();
  /** How many examples this isolate has sent, by day, route and kind. */
  #examples = new Map<string, number>();

  constructor(ports: SighterPorts) {
    this.#ports = ports;
  }

  /** Resolves when the copies are no longer needed. Rejects only for a bug. */
  async report(seen: SeenRequest): Promise<void> {
    const { route, request, answer } = seen;
    const { sighting, problem, key } = await readSighting(seen, this.#ports.reading).catch((error: unknown) => {
      this.#count(route.path, "lost");
      throw error;
    });
    if (sighting === null) {
      if (problem === null) return;
      this.#count(route.path, problem);
      // Counts go to any object of the layout.
      this.#batch(shardAddressOf(crypto.randomUUID(), route.layouts.own));
      return;
    }
    const question = { sighting, ...questionOf(route, sighting) };
    const example = {
      method: request.method,
      status: answer?.status ?? null,
      key: route.note.what === "none" ? null : key,
    };
    this.#add(shardAddressOf(sighting.id, route.layouts.own), { question, problem, example });
  }

  #add(address: ShardAddress, pending: PendingSighting): void {
    if (this.#pending >= MOST_PENDING) {
      this.#lose([pending]);
      return;
    }
    this.#pending += 1;
    this.#batch(address).sightings.push(pending);
  }

  /** The batch of an object that waits, or a new one. */
  #batch(address: ShardAddress): SightingBatch {
    const name = shardTitle(address);
    const waiting = this.#batches.get(name);
    if (waiting !== undefined && performance.now() < waiting.begunAt + LOST_AFTER_MS) return waiting;
    if (waiting !== undefined) this.#lose(this.#taken(waiting));
    const batch = { address, begunAt: performance.now(), sightings: [] };
    this.#batches.set(name, batch);
    const pause = new Promise((resolve) => setTimeout(resolve, BATCH_MS));
    this.#ports.waitUntil(pause.then(() => this.#send(name, batch)));
    return batch;
  }

  /** Its sightings are no longer pending. */
  #taken({ sightings }: SightingBatch): readonly PendingSighting[] {
    this.#pending -= sightings.length;
    return sightings;
  }

  async #send(name: string, batch: SightingBatch): Promise<void> {
    if (this.#batches.get(name) !== batch) return;
    this.#batches.delete(name);
    const counted = [...this.#counted.values()];
    this.#counted = new Map();
    const { sightings } = batch;
    try {
      const questions = sightings.map(({ question }) => question);
      const stub = shardStub(this.#ports.namespace, batch.address);
      const answers = await firstOf(askObject(stub, SIGHTINGS_CALL, { questions, counted }), SILENT_AFTER_MS);
      if (answers === null) throw new Error(`no answer within ${SILENT_AFTER_MS} ms`);
      for (const [at, one] of sightings.entries()) {
        const answer = answers[at];
        if (answer !== undefined) await this.#answered(one, answer);
      }
    } catch (error) {
      console.warn({ message: "sightings were lost", count: sightings.length, reason: String(error) });
      this.#lose(sightings);
    } finally {
      this.#taken(batch);
    }
  }

  async #answered({ question, problem, example }: PendingSighting, answer: SightingAnswer): Promise<void> {
    const { route, beganAt: at, id } = question.sighting;
    // A request without a key that repeats another one is a repeat: its object has counted it.
    if (problem !== null && answer.class !== "content-repeat") this.#count(route, problem);
    const kind = exampleKind(answer);
    const { earlierAt } = answer;
    if (kind !== null) await this.#keepExample({ ...example, route, kind, at, earlierAt, keyHash: keyHashOf(id) });
  }

  /** Of each kind and day few are kept, so that an isolate need not send more. */
  async #keepExample(example: ObservedExample): Promise<void> {
    const day = `${Math.floor(example.at / 86_400_000)} `;
    const name = `${day}${example.route} ${example.kind}`;
    const sent = this.#examples.get(name) ?? 0;
    if (sent >= MOST_EXAMPLES) return;
    if (this.#examples.size >= MOST_COUNTED) this.#examples = new Map();
    this.#examples.set(name, sent + 1);
    await this.#ports.askOperators(EXAMPLE_CALL, example).catch((error: unknown) => {
      console.warn({ message: "an example was lost", reason: String(error) });
    });
  }

  #count(route: string, seen: CountedAlone): void {
    this.#ports.reporter.sighted(route, seen);
    const name = `${route} ${seen}`;
    if (!this.#counted.has(name) && this.#counted.size >= MOST_COUNTED) return;
    const count = (this.#counted.get(name)?.count ?? 0) + 1;
    this.#counted.set(name, { route, name: seen, count });
  }

  #lose(sightings: readonly PendingSighting[]): void {
    for (const { question, problem } of sightings) {
      this.#count(question.sighting.route, "lost");
      if (problem !== null) this.#count(question.sighting.route, problem);
    }
  }
}

function questionOf({ rules: { policy }, trial }: Route, { isKeyless }: RequestSighting) {
  const keepMs = isKeyless ? (trial?.keylessMs ?? 0) : policy.retentionMs;
  return { unknown: policy.unknown, keepMs: Math.min(keepMs, MOST_KEPT_MS) };
}
