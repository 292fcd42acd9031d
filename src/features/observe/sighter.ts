// Tells the key's object what was seen of a request. Nobody waits for it, and nothing is tried again: what fails is dropped and counted. What waits for an
// object that does not answer is bounded.

import { askObject, shardStub } from "../../kernel/object/call-shard.ts";
import { shardAddressOf } from "../../kernel/object/shard-address.ts";
import { keyHashOf } from "../../kernel/record/units.ts";
import type { Route } from "../../kernel/config/resolved.ts";
import type { ReadPorts } from "../../kernel/request/exchange-request.ts";
import { firstOf } from "../../kernel/request/first-of.ts";
import type { ExchangeReporter } from "../../kernel/traffic/exchange-reporter.ts";
import type { AskOperators } from "../../kernel/worker-feature.ts";
import { EXAMPLE_CALL, type ObservedExample, exampleKind, MOST_EXAMPLES } from "./example.ts";
import { readSighting, type ReadSighting } from "./read-sighting.ts";
import type { SeenRequest } from "./request-look.ts";
import { type CountedClass, SIGHT_CALL, type RequestSighting, type SightingAnswer } from "./sighting.ts";

/** An object that does not answer by then has not seen it. */
const SILENT_AFTER_MS = 5_000;

/** Sightings on their way at the same time. */
const MOST_PENDING = 500;

/** Observations are kept no longer than two days; erasing them may take an hour. */
export const MOST_KEPT_MS = 47 * 3_600_000;

/** What isolates have counted alone is handed over with the next sighting, or after this time without one. */
const HAND_OVER_MS = 5_000;

/** Names of classes, by route: a configuration has some hundred routes. */
const MOST_COUNTED = 1000;

export interface SighterPorts {
  readonly namespace: DurableObjectNamespace;
  readonly reading: ReadPorts;
  readonly reporter: Pick<ExchangeReporter, "sighted">;
  readonly askOperators: AskOperators;
}

export class SightingReporter {
  readonly #ports: SighterPorts;
  #pending = 0;
  /** By route and name. */
  #counted = new Map<string, CountedClass>();
  #handedOverAt = Number.NEGATIVE_INFINITY;
  /** How many examples this isolate has sent, by day, route and kind. */
  #examples = new Map<string, number>();

  constructor(ports: SighterPorts) {
    this.#ports = ports;
  }

  /** Rejects only for a bug. */
  async report(seen: SeenRequest): Promise<void> {
    const { route } = seen;
    const read = await readSighting(seen, this.#ports.reading).catch((error: unknown) => {
      this.#count(route.path, "lost");
      throw error;
    });
    // A request without a key that repeats another one is a repeat: its object says so.
    if (read.problem !== null && read.sighting === null) this.#count(route.path, read.problem);
    const isDue = this.#counted.size > 0 && performance.now() > this.#handedOverAt + HAND_OVER_MS;
    if (read.sighting === null && !isDue) return;
    if (this.#pending >= MOST_PENDING) {
      this.#lose(route.path, read);
      return;
    }
    this.#pending += 1;
    try {
      await this.#tell(seen, read);
    } finally {
      this.#pending -= 1;
    }
  }

  async #tell({ route, request, answer }: SeenRequest, read: ReadSighting): Promise<void> {
    const { sighting, key, problem } = read;
    const counted = [...this.#counted.values()];
    this.#counted = new Map();
    this.#handedOverAt = performance.now();
    let given: SightingAnswer | null = null;
    try {
      given = await this.#ask(route, sighting, counted);
    } catch (error) {
      console.warn({ message: "a sighting was lost", route: route.path, reason: String(error) });
      this.#lose(route.path, read);
      return;
    }
    if (given === null || sighting === null) return;
    if (problem !== null && given.class !== "content-repeat") this.#count(route.path, problem);
    const kind = exampleKind(given);
    if (kind === null) return;
    const { beganAt: at, id } = sighting;
    await this.#keepExample({
      route: route.path,
      kind,
      at,
      earlierAt: given.earlierAt,
      method: request.method,
      status: answer?.status ?? null,
      keyHash: keyHashOf(id),
      key: route.note.what === "none" ? null : key,
    });
  }

  async #ask(
    route: Route,
    sighting: RequestSighting | null,
    counted: readonly CountedClass[],
  ): Promise<SightingAnswer | null> {
    const { own } = route.layouts;
    const { policy } = route.rules;
    const keptMs = sighting?.isKeyless === true ? (route.trial?.keylessMs ?? 0) : policy.retentionMs;
    // Counts alone go anywhere.
    const id = sighting?.id ?? crypto.randomUUID().replaceAll("-", "");
    const question = { sighting, unknown: policy.unknown, keepMs: Math.min(keptMs, MOST_KEPT_MS), counted };
    const stub = shardStub(this.#ports.namespace, shardAddressOf(id, own));
    const asked = askObject(stub, SIGHT_CALL, question).then((answer) => ({ answer }));
    const heard = await firstOf(asked, SILENT_AFTER_MS);
    if (heard === null) throw new Error(`no answer within ${SILENT_AFTER_MS} ms`);
    return heard.answer;
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

  #count(route: string, seen: Parameters<ExchangeReporter["sighted"]>[1]): void {
    this.#ports.reporter.sighted(route, seen);
    const name = `${route} ${seen}`;
    if (!this.#counted.has(name) && this.#counted.size >= MOST_COUNTED) return;
    const count = (this.#counted.get(name)?.count ?? 0) + 1;
    this.#counted.set(name, { route, name: seen, count });
  }

  #lose(route: string, { sighting, problem }: ReadSighting): void {
    if (sighting === null) return;
    this.#count(route, "lost");
    if (problem !== null) this.#count(route, problem);
  }
}
