import { afterAll, beforeAll, expect, it } from "vitest";
import { wireCases } from "./support/wire-cases.ts";
import { differencesOf, judge } from "./support/wire-differences.ts";
import { type Seen, startWays, type WireCase, type Ways } from "./support/wire-ways.ts";

let ways: Ways;
beforeAll(async () => {
  ways = await startWays([{ path: "/protected/*", methods: ["POST","PUT","PATCH","DELETE"] }]);
});
afterAll(() => ways.close());

it("explore", async () => {
  const cases = wireCases(
    {
      methods: [
        "GET",
        "GET",
        "HEAD",
        "POST",
        "PUT",
        "PATCH",
        "DELETE",
        "OPTIONS",
        "PROPFIND",
        "TRACE",
        "LINK",
        "get",
        "QUERY",
      ],
      prefix: "/open",
      headers: () => [],
      statuses: [200, 200, 201, 204, 206, 301, 304, 404, 422, 500, 503, 599, 600, 999, 299],
    },
    Number(process.env["CASES"] ?? 600),
    1,
  );
  const all: { of: WireCase; straight: Seen; plain: Seen; gateway: Seen }[] = [];
  for (let at = 0; at < cases.length; at += 16) {
    all.push(
      ...(await Promise.all(
        cases.slice(at, at + 16).map(async (of) => ({
          of,
          straight: await ways.straight.send(of),
          plain: await ways.plain.send(of),
          gateway: await ways.gateway.send(of),
        })),
      )),
    );
  }
  const keyed = wireCases({ methods: ["POST","PUT","PATCH","DELETE"], prefix: "/protected", headers: () => [["Idempotency-Key", crypto.randomUUID()]], statuses: [200,200,201,204,206,301,304,404,422,500,599,299,503,502,600] }, 600, 2);
  const all2: typeof all = [];
  for (let at = 0; at < keyed.length; at += 16) {
    all2.push(...await Promise.all(keyed.slice(at, at+16).map(async (of) => ({ of, straight: await ways.plain.send(of), plain: await ways.gateway.send(of), gateway: await ways.gateway.send(of) }))));
  }
  for (const [name, list, pick] of [["straight/plain", all, (x: typeof all[0]) => x.plain.requests.length === 0 ? [] : differencesOf(x.straight, x.plain)], ["plain/first", all2, (x: typeof all[0]) => x.straight.requests.length === 0 ? [] : differencesOf(x.straight, x.plain)], ["first/replay", all2, (x: typeof all[0]) => differencesOf(x.plain, x.gateway)], ["refused by plain", all, (x: typeof all[0]) => x.plain.requests.length > 0 ? [] : [{at: "client" as const, what: "status " + x.plain.response?.status, one: x.straight.requests.length, other: x.plain.response?.body}]]] as const) {
    const { defects } = judge(list.map((x) => ({ of: x.of, differences: pick(x) })), []);
    const groups = new Map<string, typeof defects[0][]>();
    for (const d of defects) { const k = `${d.difference.at} ${d.difference.what}`; groups.set(k, [...(groups.get(k) ?? []), d]); }
    console.log("=====", name, list.length);
    for (const [k, l] of groups) { console.log(`## ${k}: ${l.length}`); const seenE = new Set<string>(); for (const d of l) { const e = JSON.stringify(d.difference.one)?.slice(0,70) + "->" + JSON.stringify(d.difference.other)?.slice(0,70); if (seenE.size > 2 || seenE.has(e)) continue; seenE.add(e); console.log("   ", e, "|", d.of.method, d.of.target, JSON.stringify(d.of.headers.slice(2)).slice(0,90), JSON.stringify(d.of.answer.bytes).slice(0,110), d.of.answer.then); } }
  }
  expect(1).toBe(1);
});
