import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { answerCall, jsonCall, CallTable, rawCall, respondToCall } from "../../../../src/kernel/call.ts";

const DOUBLE = jsonCall<number, number>("double");
const NOTHING = jsonCall<void, void>("nothing");
const RAW = rawCall("raw");

const table = new CallTable([
  answerCall(DOUBLE, (number) => number * 2),
  answerCall(NOTHING, () => undefined),
  respondToCall(RAW, (request) => new Response(`${request.method} raw`)),
]);

const post = ({ url }: { readonly url: string }, body?: string): Request =>
  new Request(url, body === undefined ? { method: "POST" } : { method: "POST", body });

it("answers a question, by a request or by its name", async () => {
  expect(await (await table.respond(post(DOUBLE, "21"))).json()).toBe(42);
  expect(await table.ask("double", 21)).toBe(42);
  expect(await (await table.respond(post(NOTHING))).json()).toBeNull();
  expect(await (await table.respond(post(RAW))).text()).toBe("POST raw");
});

it("refuses what is not in it: another protocol, another name, and bytes asked for as a question", () => {
  expect(() => table.respond(post({ url: "https://key-shard/2/double" }))).toThrow("answers no such call");
  expect(() => table.respond(post({ url: `${DOUBLE.url}?a` }))).toThrow("answers no such call");
  expect(() => table.ask("raw", 1)).toThrow("answers no such question");
  expect(() => table.ask("constructor", 1)).toThrow("answers no such question");
});

it("has one call of each name", () => {
  expect(
    () => new CallTable([answerCall(DOUBLE, () => 1), respondToCall(rawCall("double"), () => new Response())]),
  ).toThrow("two calls have one name");
});

it("is all ways into an object", () => {
  const src = fileURLToPath(new URL("../../../../src/", import.meta.url));
  const names = globSync("**/*.ts", { cwd: src }).flatMap((file) =>
    [...readFileSync(src + file, "utf8").matchAll(/\b(?:jsonCall<[^"]*?>|rawCall)\("([^"]+)"\)/g)].map(
      ([, name = ""]) => name,
    ),
  );
  expect(names.toSorted((one, other) => one.localeCompare(other))).toMatchInlineSnapshot(`
    [
      "abandon",
      "alerts",
      "alive",
      "audit-begin",
      "audit-end",
      "audit-page",
      "body",
      "change",
      "change-events",
      "change-listed",
      "claims",
      "close",
      "count-claims",
      "count-events",
      "counts",
      "decide",
      "deliveries",
      "end-sessions",
      "enrol",
      "enrolled",
      "erase-scope",
      "exchange",
      "gather",
      "has",
      "hours",
      "inspect",
      "list",
      "list-events",
      "list-positions",
      "locate",
      "look-up",
      "monitor",
      "numbers",
      "observe-example",
      "observe-examples",
      "observed",
      "offer",
      "position",
      "recent",
      "replays-of",
      "report",
      "rotating",
      "sessions",
      "set-position",
      "sightings",
      "totals",
      "traffic",
      "upload",
    ]
  `);
});
