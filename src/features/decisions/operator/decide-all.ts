// Decides about records, each as its decision says: looks at some of them, grouped by the objects that may have them, then has each object
// change its own, one record and one entry of the audit log after the other. Bounded in time and in calls; what it does not get to, it says.

import type { RecordId } from "../../../kernel/record/units.ts";
import { shardStub } from "../../../kernel/object/call-shard.ts";
import { shardTitle } from "../../../kernel/object/shard-address.ts";
import type { WorkerKernel } from "../../../kernel/worker-feature.ts";
import { encodeMessage } from "../../../kernel/request/message.ts";
import type { Actor } from "../../../operator/access/auth.ts";
import { unlessSilent } from "../../../operator/ask-shards.ts";
import { auditedKey, type AuditLog } from "../../../operator/audited.ts";
import { MAX_CALLS } from "../../../operator/asking-plan.ts";
import { ACTIONS } from "../../../operator/record-actions/record-actions.ts";
import type { LayoutShardAddress } from "../../../operator/shards.ts";
import { type AskedDecision, DECIDE_CALL, type DecidedRecord, type DecideHead } from "../object/decided-records.ts";
import type { RecordDecision } from "./decision.ts";
import type { DecisionOutcome } from "./decision-schema.ts";
import type { AskedDecisions } from "./decide-request.ts";

/** The platform opens six connections; the others queue briefly. */
const CALLS_AT_ONCE = 16;
/** Where consumers keep claims, any object may have a record. Of more than so many, those are asked that the key names, and a few others. */
const MOST_PLACES = 400;
const FEW_PLACES = 16;
/** The call, and two to the audit log. */
const CALLS_PER_CHANGE = 3;
/** For looking, and for the changes of each group that was looked at. */
const MAX_MS = 5000;
/** Decisions that are looked at before the first of them is carried out: requests wait in an object that looks at many. */
const AT_ONCE = 100;

export interface DecideRequest extends AskedDecisions {
  readonly by: Actor;
}

export interface DecisionResult {
  readonly outcome: DecisionOutcome;
  /** `null`: none was found, or several. */
  readonly record: Omit<DecidedRecord, "outcome"> | null;
  /** Of `several`. */
  readonly ids: readonly RecordId[];
}

export interface DecideResult {
  /** In the order of the decisions. */
  readonly results: readonly DecisionResult[];
  readonly unreachable: readonly string[];
}

export type DecideRecords = (request: DecideRequest) => Promise<DecideResult>;

export interface DecidePorts {
  /** Which objects may have a record whose id begins so. */
  readonly addressesOf: (begin: string) => readonly LayoutShardAddress[];
  /** Sends a message (object/decided-records.ts); `null`: the object does not answer. */
  readonly ask: (
    address: LayoutShardAddress,
    message: Uint8Array,
  ) => Promise<readonly (readonly DecidedRecord[])[] | null>;
  readonly audit: AuditLog;
}

/** Over the objects that keep the records, and audited. */
export function decider({
  namespace,
  directory,
  audit,
}: Pick<WorkerKernel, "namespace" | "directory" | "audit">): DecideRecords {
  return (request) =>
    decideAll(request, {
      addressesOf: (begin) => directory.of(begin),
      ask: (address, body) => {
        const answer = shardStub(namespace, address).fetch(DECIDE_CALL.url, { method: "POST", body });
        return unlessSilent(
          address,
          answer.then((response) => response.json<readonly (readonly DecidedRecord[])[]>()),
        );
      },
      audit,
    });
}

export async function decideAll(request: DecideRequest, ports: DecidePorts): Promise<DecideResult> {
  const run = new DecisionRun(request, ports);
  const end = Date.now() + MAX_MS;
  for (let from = 0; from < request.decisions.length; from += AT_ONCE) {
    const isFirst = from === 0;
    if (!isFirst && Date.now() >= end) break;
    // oxlint-disable-next-line no-await-in-loop -- requests wait in the objects meanwhile
    if (!(await run.some(request.decisions.slice(from, from + AT_ONCE), isFirst))) break;
  }
  return run.result();
}

/** What an object has of a decision. */
interface Found {
  readonly address: LayoutShardAddress;
  readonly record: DecidedRecord;
}

class DecisionRun {
  readonly #request: DecideRequest;
  readonly #ports: DecidePorts;
  readonly #results = new Map<RecordDecision, DecisionResult>();
  readonly #unreachable = new Set<string>();
  #calls = 0;
  /** Why the log could not be written. */
  #unwritten: unknown = null;

  constructor(request: DecideRequest, ports: DecidePorts) {
    this.#request = request;
    this.#ports = ports;
  }

  /** Decides some of them; whether there may be more. The first ones are looked at whatever they cost, so that each request gets on. */
  async some(decisions: readonly RecordDecision[], isFirst: boolean): Promise<boolean> {
    const byObject = this.#byObject(decisions);
    const most = byObject.length + (this.#request.isPreview ? 0 : CALLS_PER_CHANGE * decisions.length);
    if (!isFirst && this.#calls + most > MAX_CALLS) return false;
    const found = new Map<RecordDecision, Found[]>();
    const silent = new Set<RecordDecision>();
    await atOnce(byObject, async ({ address, asked }) => {
      const answers = await this.#ask(address, asked, true);
      asked.forEach((decision, at) => {
        const records = (answers?.[at] ?? []).map((record) => ({ address, record }));
        found.set(decision, [...(found.get(decision) ?? []), ...records]);
        if (answers === null) silent.add(decision);
      });
      return true;
    });
    const toChange = decisions.filter((decision) => {
      const records = found.get(decision) ?? [];
      const isPartial = silent.has(decision) || (records.length === 0 && this.#hasMorePlaces(decision));
      const result = lookedAt(records, isPartial);
      this.#results.set(decision, result);
      return result.outcome === "changed";
    });
    if (this.#request.isPreview) {
      for (const decision of toChange) this.#set(decision, "would-change");
      return true;
    }
    for (const decision of toChange) this.#set(decision, "not-reached");
    const end = Date.now() + MAX_MS;
    await atOnce(toChange, async (decision) => {
      const [one] = found.get(decision) ?? [];
      if (one === undefined || Date.now() >= end) return false;
      return this.#change(decision, one);
    });
    if (this.#unwritten === null) return true;
    // What has been done before must be said.
    if (![...this.#results.values()].some(({ outcome }) => outcome === "changed")) throw this.#unwritten;
    return false;
  }

  result(): DecideResult {
    const results = this.#request.decisions.map((decision) => this.#results.get(decision) ?? NOT_REACHED);
    return { results, unreachable: [...this.#unreachable] };
  }

  #byObject(
    decisions: readonly RecordDecision[],
  ): readonly { address: LayoutShardAddress; asked: readonly RecordDecision[] }[] {
    const groups = new Map<string, { address: LayoutShardAddress; asked: RecordDecision[] }>();
    for (const decision of decisions) {
      const places = this.#ports.addressesOf(decision.begin);
      for (const address of this.#hasMorePlaces(decision) ? places.slice(0, FEW_PLACES) : places) {
        const name = `${address.layout} ${shardTitle(address)}`;
        const group = groups.get(name) ?? { address, asked: [] };
        groups.set(name, group);
        group.asked.push(decision);
      }
    }
    return [...groups.values()];
  }

  /** Whether it can be in more objects than are asked. */
  #hasMorePlaces({ begin }: RecordDecision): boolean {
    return this.#ports.addressesOf(begin).length > MOST_PLACES;
  }

  /** Whether it could be written down: if not, it was not done, and neither can the others be. */
  async #change(decision: RecordDecision, { address, record }: Found): Promise<boolean> {
    const { action, reason } = decision;
    const { id, label } = record;
    this.#calls += CALLS_PER_CHANGE - 1;
    try {
      const outcome = await this.#ports.audit.record(
        this.#request.by,
        action,
        { target: id, reason, key: auditedKey(record), label },
        async () => {
          const answers = await this.#ask(address, [{ ...decision, begin: id }], false);
          return answers === null ? "unanswered" : (answers[0]?.[0]?.outcome ?? "not-found");
        },
        (done) => (done === "changed" ? "done" : done === "unanswered" ? "no answer" : `refused: ${done}`),
      );
      this.#set(decision, outcome);
      return true;
    } catch (error) {
      this.#unwritten = error;
      return false;
    }
  }

  async #ask(
    address: LayoutShardAddress,
    asked: readonly RecordDecision[],
    isPreview: boolean,
  ): Promise<readonly (readonly DecidedRecord[])[] | null> {
    const shard = shardTitle(address);
    if (this.#unreachable.has(shard)) return null;
    this.#calls += 1;
    const { by, until: since } = this.#request;
    const decisions = asked.map((decision): AskedDecision => {
      const { begin, action, reason, response } = decision;
      const { headers = [], body } = response ?? {};
      const event = ACTIONS[action].event({ by: by.name, why: reason, response });
      return { begin, event, headers, bodyBytes: body?.byteLength ?? 0 };
    });
    const head: DecideHead = { decisions, isPreview, since };
    const body = joined(asked.flatMap(({ response }) => response?.body ?? []));
    const answers = await this.#ports.ask(address, encodeMessage({ head, body }));
    if (answers === null) this.#unreachable.add(shard);
    return answers;
  }

  #set(decision: RecordDecision, outcome: DecisionOutcome): void {
    const before = this.#results.get(decision) ?? NOT_REACHED;
    this.#results.set(decision, { ...before, outcome });
  }
}

const NOT_REACHED: DecisionResult = { outcome: "not-reached", record: null, ids: [] };

/** A partial answer would look like "not found", or like the only record of a key. */
function lookedAt(found: readonly Found[], isPartial: boolean): DecisionResult {
  const [one, ...others] = found;
  if (isPartial) return { ...NOT_REACHED, outcome: "unreachable" };
  if (one === undefined) return { ...NOT_REACHED, outcome: "not-found" };
  if (others.length > 0) return { ...NOT_REACHED, outcome: "several", ids: found.map(({ record }) => record.id) };
  const { outcome, ...record } = one.record;
  return { outcome, record, ids: [] };
}

/** Runs some at once, in order, until one says that no more is to be done. */
async function atOnce<One>(all: readonly One[], run: (one: One) => Promise<boolean>): Promise<void> {
  const left = [...all];
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      // oxlint-disable-next-line no-await-in-loop
      if (!(await run(next))) left.length = 0;
    }
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, work));
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}
