// Many decisions in real objects of two layouts: each does what the single change does, every one is audited by itself, and what cannot be
// reached in time, in calls or at all is said.

import { env } from "cloudflare:test";
import { expect, it } from "vitest";
import { DECIDE_CALL, type DecideHead } from "../../../../src/features/decisions/object/decided-records.ts";
import {
  decideAll,
  type DecidePorts,
  type DecideRequest,
  type DecideResult,
} from "../../../../src/features/decisions/operator/decide-all.ts";
import type { RecordDecision } from "../../../../src/features/decisions/operator/decision.ts";
import { decider } from "../../../../src/features/decisions/operator/decide-all.ts";
import type { OperatorChange } from "../../../../src/kernel/record/timeline.ts";
import { writeNote } from "../../../../src/kernel/record/request-note.ts";
import { epochMs, recordId } from "../../../../src/kernel/record/units.ts";
import { decodeMessage } from "../../../../src/kernel/request/message.ts";
import { keyHash } from "../../../../src/kernel/request/record-name.ts";
import { AuditUnavailable } from "../../../../src/operator/audited.ts";
import { expired, type Kept, KINDS, startRecords } from "../../../support/integration/kept-records.ts";
import { ADMIN } from "../../../support/integration/operators.ts";
import { silence } from "../../../support/integration/silence.ts";

silence();

const REASON = "reconciled with the ledger";
const GIVEN = {
  status: 201,
  headers: [["content-type", "text/plain"]] as const,
  body: new TextEncoder().encode("paid"),
};
const ACTIONS = ["release", "resolve", "forget"] as const;

async function decisionOf({ id, key }: Kept, action: OperatorChange, isByKey = false): Promise<RecordDecision> {
  const response = action === "resolve" ? GIVEN : null;
  const begin = isByKey ? await keyHash(key) : id;
  return { written: { decision: action }, begin, action, reason: REASON, response };
}

function requestOf(decisions: readonly RecordDecision[], more: Partial<DecideRequest> = {}): DecideRequest {
  return { decisions, until: epochMs(Date.now()), isPreview: false, by: ADMIN, ...more };
}

const outcomesOf = ({ results }: DecideResult): readonly string[] => results.map(({ outcome }) => outcome);

it.each(ACTIONS)("does to records of every kind what %s does to each alone, as its preview said", async (action) => {
  const [one, many] = [startRecords(), startRecords()];
  const alone: Kept[] = [];
  const together: Kept[] = [];
  for (const isOlder of [false, true]) {
    for (const make of [...Object.values(KINDS), expired]) {
      alone.push(await one.keep(make(), "/pay", isOlder));
      together.push(await many.keep(make(), "/pay", isOlder));
    }
  }
  await one.restart();
  await many.restart();
  const expected: string[] = [];
  const states: string[] = [];
  for (const { id } of alone) {
    const response = action === "resolve" ? GIVEN : null;
    const result = await one.operator.change(id, { action, by: ADMIN, reason: REASON, response, isPreview: false });
    expected.push(result.kind === "refused" ? result.why : "changed");
    states.push((await one.operator.inspect(id))?.state ?? "none");
  }
  const decisions = await Promise.all(together.map((kept, at) => decisionOf(kept, action, at % 2 === 0)));
  const until = epochMs(Date.now() + 1000);
  const before = await many.rows();
  const decide = decider(many.kernel);
  const preview = outcomesOf(await decide(requestOf(decisions, { until, isPreview: true })));
  expect(preview).toEqual(expected.map((outcome) => (outcome === "changed" ? "would-change" : outcome)));
  expect(await many.rows()).toEqual(before);
  expect(outcomesOf(await decide(requestOf(decisions, { until })))).toEqual(expected);
  const seen = await Promise.all(together.map(async ({ id }) => (await many.operator.inspect(id))?.state ?? "none"));
  expect(seen).toEqual(states);
});

it("writes an entry for each that it changes, with its key, before the change, and none of a preview", async () => {
  const scene = startRecords();
  const kept = [
    await scene.keep(KINDS.unknown()),
    await scene.keep(KINDS.failed()),
    await scene.keep(KINDS.completed()),
  ];
  await scene.restart();
  const written: unknown[] = [];
  const audit: DecidePorts["audit"] = {
    async record(by, action, { target, reason, key }, change, outcomeOf) {
      const own = kept.find(({ id }) => id === target);
      const state = own === undefined ? null : (await scene.operator.inspect(own.id))?.state;
      const result = await change();
      written.push([by.name, action, target, reason, key, state, outcomeOf(result)]);
      return result;
    },
  };
  const decide = decider({ ...scene.kernel, audit });
  const decisions = await Promise.all(kept.map((one) => decisionOf(one, "resolve", true)));
  const until = epochMs(Date.now());
  await decide(requestOf(decisions, { until, isPreview: true }));
  expect(written).toEqual([]);
  expect(outcomesOf(await decide(requestOf(decisions, { until })))).toEqual(["changed", "changed", "completed"]);
  expect(new Set(written)).toEqual(
    new Set(
      kept
        .slice(0, 2)
        .map(({ id, key }, at) => ["admin", "resolve", id, REASON, key, at === 0 ? "unknown" : "failed", "done"]),
    ),
  );
});

it("writes down the label of a record, and no key of an encrypted one", async () => {
  const scene = startRecords();
  const request = { method: "POST", target: null, sizeBytes: null, caller: null, excerptUntil: null };
  const labels = [{ note: writeNote({ ...request, label: "order-17" }) }, { scopeDigest: "d" }];
  const kept: Kept[] = [];
  for (const label of labels) kept.push(await scene.keep(KINDS.unknown(), "/pay", false, [], label));
  await scene.restart();
  const written = new Map<string | null, unknown>();
  const audit: DecidePorts["audit"] = {
    record(_by, _action, { target, key, label }, change) {
      written.set(target, { key, label });
      return change();
    },
  };
  const decide = decider({ ...scene.kernel, audit });
  const decisions = await Promise.all(kept.map((one) => decisionOf(one, "release")));
  const until = epochMs(Date.now());
  expect(outcomesOf(await decide(requestOf(decisions, { until })))).toEqual(["changed", "changed"]);
  const [labelled, encrypted] = kept;
  expect(written.get(labelled?.id ?? "")).toEqual({ key: labelled?.key, label: "order-17" });
  expect(written.get(encrypted?.id ?? "")).toEqual({ key: null, label: null });
});

it("stops where the log cannot be written, and says what was done before", async () => {
  const scene = startRecords();
  const kept: Kept[] = [];
  for (let at = 0; at < 40; at += 1) kept.push(await scene.keep(KINDS.unknown()));
  await scene.restart();
  let room = 5;
  const audit: DecidePorts["audit"] = {
    record: (_by, _action, _target, change) => {
      room -= 1;
      return room < 0 ? Promise.reject(new AuditUnavailable("no room")) : change();
    },
  };
  const decisions = await Promise.all(kept.map((one) => decisionOf(one, "release")));
  const until = epochMs(Date.now());
  const decide = decider({ ...scene.kernel, audit });
  const outcomes = outcomesOf(await decide(requestOf(decisions, { until })));
  expect(outcomes.filter((outcome) => outcome === "changed")).toHaveLength(5);
  expect(outcomes.filter((outcome) => outcome === "not-reached")).toHaveLength(35);
  await expect(decide(requestOf(decisions, { until }))).rejects.toThrow("no room");
  room = Number.POSITIVE_INFINITY;
  const rest = outcomesOf(await decide(requestOf(decisions, { until })));
  expect(rest).toEqual(outcomes.map((outcome) => (outcome === "changed" ? "already" : "changed")));
});

it("says of which it does not know whether they were changed, because their object was lost in between", async () => {
  let calls = Number.POSITIVE_INFINITY;
  const namespace = new Proxy(env.KEY_SHARD, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (name !== "get") return typeof member === "function" ? member.bind(target) : member;
      return (id: DurableObjectId) => {
        const stub = target.get(id);
        return new Proxy(stub, {
          get(own, part) {
            if (part !== "fetch") return Reflect.get(own, part);
            return (input: RequestInfo, init?: RequestInit) => {
              if (input === DECIDE_CALL.url) calls -= 1;
              return calls < 0 ? Promise.reject(new Error("lost")) : own.fetch(new Request(input, init));
            };
          },
        });
      };
    },
  });
  const scene = startRecords(namespace);
  const kept = await scene.keep(KINDS.unknown());
  await scene.restart();
  const decisions = [await decisionOf(kept, "release")];
  const until = epochMs(Date.now());
  const decide = decider(scene.kernel);
  const layouts = scene.kernel.directory.of(kept.id).length;
  calls = layouts;
  const lost = await decide(requestOf(decisions, { until }));
  expect([outcomesOf(lost), lost.unreachable.length]).toEqual([["unanswered"], 1]);
  calls = 0;
  expect(outcomesOf(await decide(requestOf(decisions, { until })))).toEqual(["unreachable"]);
  calls = Number.POSITIVE_INFINITY;
  expect(outcomesOf(await decide(requestOf(decisions, { until })))).toEqual(["changed"]);
});

it("asks all objects that may have a record, or says that it has not", async () => {
  const [here = "", there = "", nowhere = ""] = ["a", "b", "c"].map((digit) => digit.repeat(64));
  const asked = new Set<string>();
  const addressOf = (name: string) => ({ name, jurisdiction: null, locationHint: null, layout: "512" });
  const found = {
    key: "k",
    encrypted: false,
    label: null,
    route: "/pay",
    state: "unknown",
    outcome: "changed",
  } as const;
  let others = 200;
  const ports: DecidePorts = {
    addressesOf: (begin) => [begin.slice(0, 1), ...Array.from({ length: others }, (_, at) => `${at}`)].map(addressOf),
    ask({ name }, message) {
      asked.add(name);
      const { decisions } = decodeMessage<DecideHead>(message).head;
      const has = (begin: string): boolean => (begin === here ? name === "a" : begin === there && name === "150");
      return Promise.resolve(decisions.map(({ begin }) => (has(begin) ? [{ id: recordId(begin), ...found }] : [])));
    },
    audit: { record: (_by, _action, _target, change) => change() },
  };
  const decisions = [here, there, nowhere].map((begin): RecordDecision => {
    return { written: { decision: "release" }, begin, action: "release", reason: REASON, response: null };
  });
  expect(outcomesOf(await decideAll(requestOf(decisions), ports))).toEqual(["changed", "changed", "not-found"]);
  others = 500;
  asked.clear();
  expect(outcomesOf(await decideAll(requestOf(decisions), ports))).toEqual(["changed", "unreachable", "unreachable"]);
  expect(asked.size).toBeLessThan(30);
});

it("makes at most 900 calls, and what it has not got to comes when it is sent again", async () => {
  const begins = Array.from({ length: 500 }, (_, at) => at.toString(16).padStart(64, "0"));
  const done = new Set<string>();
  let calls = 0;
  const ports: DecidePorts = {
    addressesOf: (begin) => [{ name: begin.slice(-2), jurisdiction: null, locationHint: null, layout: "256" }],
    ask: (_address, message) => {
      calls += 1;
      const { head } = decodeMessage<DecideHead>(message);
      return Promise.resolve(
        head.decisions.map(({ begin }) => {
          const outcome = done.has(begin) ? "already" : "changed";
          if (!head.isPreview) done.add(begin);
          return [
            { id: recordId(begin), key: "k", encrypted: false, label: null, route: "/pay", state: "unknown", outcome },
          ];
        }),
      );
    },
    audit: {
      record: (_by, _action, _target, change) => {
        calls += 2;
        return change();
      },
    },
  };
  const decisions = begins.map((begin): RecordDecision => {
    return { written: { decision: "release" }, begin, action: "release", reason: REASON, response: null };
  });
  let left = decisions;
  for (let rounds = 0; left.length > 0; rounds += 1) {
    expect(rounds).toBeLessThan(5);
    calls = 0;
    const { results } = await decideAll(requestOf(left), ports);
    expect(calls).toBeLessThanOrEqual(900);
    left = left.filter((_, at) => results[at]?.outcome === "not-reached");
  }
  expect(done.size).toBe(500);
});
