// An outage of 120 payments, with retries by several clients, decisions of an operator and a restart. The numbers that operators see are compared with
// the journal of the API, which is a process of its own, and with what the clients got: every request counts once, and "prevented" are exactly the
// requests that a client repeated and that the journal does not have.

import * as v from "valibot";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ExchangeOutcome } from "../../../../src/kernel/record/outcome.ts";
import { OUTCOMES } from "../../../../src/kernel/record/outcome.ts";
import { dayOf, preventedIn } from "../../../../src/operator/console/day-counts.ts";
import type { HoursView } from "../../../../src/operator/hours-schema.ts";
import { parseExposition, sumOf } from "../../../support/exposition.ts";
import type { Gateway } from "../../../support/gateway.ts";
import { freshKey, headerValue, type HeaderPair, type RawResponse } from "../../../support/http.ts";
import type { Script } from "../../../support/origin.ts";
import {
  ADMIN_TOKEN,
  askGateway,
  BASE,
  type OperatorScene,
  startOperatorScene,
} from "../../../support/e2e/operator-scene.ts";
import { passTime } from "../../../support/e2e/passed-time.ts";
import { type Client, clientOf, type Message, until } from "../../../support/e2e/scene.ts";

const PAYMENTS = 120;
const ROUTES = ["/reject", "/wait", "/attach"] as const;
const HUNG_UP = 10;

let scene: OperatorScene;
let gateway: Gateway;
beforeAll(async () => {
  const rules = { scope: ["none"], unknown: "hold", timeout: "60s", lock: "61s", wait: "50s", log: "none" };
  scene = await startOperatorScene(
    { shards: 4, ...rules },
    ROUTES.map((path) => ({ path, duplicate: path.slice(1) })),
  );
  ({ gateway } = scene);
});
afterAll(async () => {
  await gateway.stop();
  await scene.close();
});

interface Payment {
  readonly path: (typeof ROUTES)[number];
  /** `null`: the client forgot it. */
  readonly key: string | null;
}

/** A request that a client has sent, and what it got. */
interface Sent extends Payment {
  readonly isOther: boolean;
  /** As a client sees it; of those that hung up, that of the attempt whose end they did not wait for. */
  readonly outcome: ExchangeOutcome;
}

const sent: Sent[] = [];

const problem = v.object({ code: v.string() });
const outcome = v.picklist(OUTCOMES);
const NAMES: Readonly<Record<string, ExchangeOutcome>> = {
  "key-reused": "mismatch",
  "response-not-kept": "not-kept",
  replayed: "replay",
};

function seen(answer: RawResponse): ExchangeOutcome {
  const isProblem = headerValue(answer, "content-type") === "application/problem+json";
  const name = isProblem
    ? v.parse(problem, JSON.parse(answer.body.toString())).code
    : (headerValue(answer, "idempotency-status") ?? "");
  return answer.status === 503 ? "refused" : v.parse(outcome, NAMES[name] ?? name);
}

const recordsOf = v.object({ records: v.tuple([v.looseObject({ id: v.string() })]) });
const replaysIn = v.looseObject({ replays: v.object({ count: v.number(), lastAt: v.string() }) });

/** A record shows as many replays as its clients got, of its shard and of a Worker's memory, within the ten seconds that this hands them over in. */
async function expectReplaysOf(key: string): Promise<void> {
  const ask = (path: string) => askGateway(gateway.url + BASE + path, "GET", {});
  const { records } = v.parse(recordsOf, (await ask(`/records?key=${key}`)).json);
  const got = sent.filter((one) => one.key === key && one.outcome === "replay").length;
  expect(got).toBeGreaterThan(5);
  await until(async () => {
    const { replays } = v.parse(replaysIn, (await ask(`/records/${records[0].id}`)).json);
    return replays.count === got ? true : null;
  }, `${got} replays`);
}

const messageOf = ({ path, key }: Payment, behave?: Script): Message => ({
  path,
  ...(key === null ? {} : { key }),
  ...(behave === undefined ? {} : { behave }),
});

async function send(client: Client, payment: Payment, more: Partial<Message> = {}): Promise<RawResponse> {
  const answer = await client.send({ ...messageOf(payment), ...more });
  sent.push({ ...payment, isOther: more.body !== undefined, outcome: seen(answer) });
  return answer;
}

function countBy<T>(all: readonly T[], of: (one: T) => string): Readonly<Record<string, number>> {
  const groups = Object.entries(Object.groupBy(all, of));
  return Object.fromEntries(groups.map(([name, those = []]) => [name, those.length]));
}

interface Numbers {
  readonly requests: Readonly<Record<string, number>>;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly prevented: Readonly<Record<string, number>>;
  readonly attempts: Readonly<Record<string, number>>;
  readonly verdicts: Readonly<Record<string, number>>;
}

/** What the clients and the journal say. */
async function truth(): Promise<Numbers> {
  const journal = await scene.origin.requests();
  const refused = sent.filter((one) => one.outcome === "refused").length;
  const cutOff = journal.filter((one) => one.cutOff).length;
  const repeated = sent.filter(({ key, isOther }) => key !== null && !isOther);
  const prevented = ROUTES.map((path) => {
    const ofRoute = (all: readonly { readonly path: string }[]): number =>
      all.filter((one) => one.path === path).length;
    return [path, ofRoute(repeated) - ofRoute(journal)];
  });
  return {
    requests: countBy(sent, ({ path }) => path),
    outcomes: countBy(sent, (one) => one.outcome),
    prevented: Object.fromEntries(prevented),
    attempts: countBy(journal, ({ attempt }) => (attempt === "1" ? "first" : "again")),
    verdicts: { result: journal.length - cutOff - refused, ambiguous: cutOff, refused },
  };
}

async function ofMetrics(): Promise<Omit<Numbers, "prevented">> {
  const { text } = await askGateway(`${gateway.url}${BASE}/metrics`, "GET", {});
  const metrics = parseExposition(text);
  const by = (name: string, label: string): Readonly<Record<string, number>> => {
    const values = new Set(metrics.filter((one) => one.name === name).map(({ labels }) => labels[label] ?? ""));
    const sums = [...values].map((value) => [value, sumOf(metrics, name, { [label]: value })] as const);
    return Object.fromEntries(sums.filter(([, sum]) => sum !== 0));
  };
  const numbers = {
    requests: by("onceway_requests_total", "route"),
    outcomes: by("onceway_requests_total", "outcome"),
    attempts: by("onceway_attempts_total", "kind"),
    verdicts: by("onceway_verdicts_total", "verdict"),
  };
  expect(by("onceway_gateway_seconds_count", "route")).toEqual(numbers.requests);
  expect(sumOf(metrics, "onceway_origin_seconds_count")).toBe(sumOf(metrics, "onceway_attempts_total"));
  return numbers;
}

/** The page's charts and the tile are made of this answer. */
async function ofHours(): Promise<Pick<Numbers, "requests" | "outcomes" | "prevented">> {
  const { text } = await askGateway(`${gateway.url}${BASE}/hours`, "GET", {});
  const view: HoursView = JSON.parse(text);
  expect(view.unreachable).toEqual([]);
  const day = dayOf(view, Date.now());
  const byRoute = (of: "requests" | "prevented"): Readonly<Record<string, number>> =>
    Object.fromEntries(day.routes.map(({ route, total }) => [route, total[of]]));
  const outcomes: Record<string, number> = {};
  for (const { outcome: name, count } of view.hours.flatMap(({ routes }) => routes.flatMap((one) => one.outcomes)))
    outcomes[name] = (outcomes[name] ?? 0) + count;
  const prevented = byRoute("prevented");
  const sum = Object.values(prevented).reduce((all, one) => all + one, 0);
  expect(preventedIn(view)).toBe(sum);
  expect(day.all.total.prevented).toBe(sum);
  return { requests: byRoute("requests"), outcomes, prevented };
}

/** The tile "Duplicates prevented" of the console's overview. */
async function tile(): Promise<number> {
  const { url } = gateway;
  const origin: HeaderPair[] = [
    ["Origin", url],
    ["Content-Type", "application/x-www-form-urlencoded"],
  ];
  const client = clientOf(url);
  const form = { path: `${BASE}/console/sign-in`, headers: origin, body: `operator-token=${ADMIN_TOKEN}` };
  const cookie = headerValue(await client.send(form), "set-cookie")?.split(";")[0] ?? "";
  const page = await client.send({ method: "GET", path: BASE, headers: [["Cookie", cookie]], body: null });
  const figure = /Duplicates prevented<.*?<dd[^>]*>([^<]+)</.exec(page.body.toString())?.[1] ?? "none";
  return Number(figure.replaceAll("\u202f", ""));
}

async function expectAgreement(): Promise<Numbers> {
  const numbers = await truth();
  const { prevented, ...others } = numbers;
  expect(await ofMetrics()).toEqual(others);
  const { requests, outcomes } = numbers;
  expect(await ofHours()).toEqual({ requests, outcomes, prevented });
  return numbers;
}

const listed = v.object({ records: v.array(v.object({ id: v.string(), key: v.string() })) });

/** Resolves what the API's journal has, and releases the rest. */
async function decide(): Promise<void> {
  const ledger = new Set((await scene.origin.effectLog()).map(({ key }) => key));
  const records = `${gateway.url}${BASE}/records`;
  const { json } = await askGateway(`${records}?state=unknown&limit=500`, "GET", {});
  const unknown = v.parse(listed, json).records;
  expect(unknown).toHaveLength(PAYMENTS);
  const decisions = unknown.map(async ({ id, key }) => {
    const body = ledger.has(key)
      ? { reason: "in the ledger", response: { status: 201, body: "paid" }, confirm: true }
      : { reason: "not in the ledger" };
    const { status } = await askGateway(`${records}/${id}/${ledger.has(key) ? "resolve" : "release"}`, "POST", {
      body,
    });
    expect(status).toBe(200);
  });
  await Promise.all(decisions);
}

it("counts every request of an outage once, and as prevented what clients repeated and the API never got", async () => {
  const { origin } = scene;
  const [first, second, third] = [clientOf(gateway.url), clientOf(gateway.url), clientOf(gateway.url)];
  const payments = Array.from({ length: PAYMENTS }, (_, number): Payment & { readonly key: string } => ({
    path: ROUTES[number % ROUTES.length] ?? ROUTES[0],
    key: freshKey(),
  }));
  const on = (path: string): readonly Payment[] => payments.filter((one) => one.path === path);

  // The outage: all calls hang, half of them in the ledger already, while clients send again.
  const open = payments.map((payment, number) =>
    first.open(messageOf(payment, { hold: true, drop: "after-effect", effect: number % 2 === 0 })),
  );
  await Promise.all(payments.map(({ key }) => origin.arrived(key)));
  for (const answer of await Promise.all(on("/reject").map((payment) => send(second, payment))))
    expect(seen(answer)).toBe("in-flight");
  const waiting = on("/wait").map((payment) => send(third, payment));
  for (const one of open.slice(0, HUNG_UP)) one.reset();
  await origin.release();
  const answers = await Promise.all(open.slice(HUNG_UP).map(({ response }) => response));
  for (const [number, payment] of payments.entries()) {
    const answer = answers[number - HUNG_UP];
    sent.push({ ...payment, isOther: false, outcome: answer === undefined ? "origin-dropped" : seen(answer) });
  }
  await Promise.all(waiting);

  // Every retry is refused; and what else clients do.
  for (const client of [second, third]) await Promise.all(payments.map((payment) => send(client, payment)));
  await Promise.all(payments.slice(0, 7).map((payment) => send(second, payment, { body: "another" })));
  await Promise.all(ROUTES.map((path) => send(second, { path, key: null })));
  for (const path of ROUTES) {
    const refused = { path, key: freshKey() };
    await send(third, refused, { behave: { status: 503, effect: false } });
    await send(third, refused);
  }
  const before = await expectAgreement();
  expect(before.outcomes).toEqual({
    "origin-dropped": PAYMENTS,
    "in-flight": 40,
    "outcome-unknown": 2 * PAYMENTS + 40,
    mismatch: 7,
    "key-missing": 3,
    refused: 3,
    first: 3,
  });

  // No lock is left when the gateway starts again, and no number has fallen.
  await gateway.stop();
  passTime(gateway, 70_000);
  gateway = await gateway.restart();
  expect(await expectAgreement()).toEqual(before);

  await decide();
  await Promise.all([first, second, third].flatMap((client) => payments.map((payment) => send(client, payment))));
  const results = await Promise.all(
    payments.map((payment) =>
      until(async () => {
        const answer = await send(first, payment);
        return answer.status === 201 ? answer : null;
      }, "the attempt of another client ends"),
    ),
  );
  expect(results.map((answer) => seen(answer))).toEqual(payments.map(() => "replay"));
  // Of a Worker's memory.
  for (const [payment] of [on("/reject"), on("/wait")]) {
    for (let time = 0; time < 5; time += 1) if (payment !== undefined) await send(second, payment);
  }
  // A duplicate that follows the first answer while it arrives.
  const followed = { path: "/attach", key: freshKey() } as const;
  const slow = first.open(messageOf(followed, { chunks: ["one", "two"], holdBody: 1 }));
  await slow.piece;
  const follower = second.open(messageOf(followed));
  await follower.piece;
  await origin.release(followed.key);
  for (const { response } of [slow, follower])
    sent.push({ ...followed, isOther: false, outcome: seen(await response) });

  const after = await expectAgreement();
  await expectReplaysOf(on("/reject")[0]?.key ?? "");
  expect(after.outcomes).toMatchObject({ attached: expect.any(Number) });
  const effects = await origin.effectLog();
  expect(new Set(Object.values(countBy(effects, ({ key }) => key ?? "")))).toEqual(new Set([1]));
  expect(effects).toHaveLength(PAYMENTS + ROUTES.length + 1);
  const prevented = Object.values(after.prevented).reduce((sum, one) => sum + one, 0);
  expect(await tile()).toBe(prevented);
});
