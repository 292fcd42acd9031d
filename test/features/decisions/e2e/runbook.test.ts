// The page for whoever is called at night: its commands, as they are written there, after an outage of 120 payments. The API is a process of its own
// that is killed while all of them are on their way, half of them in its ledger already.

import { type ChildProcess, execFile, fork } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import * as v from "valibot";
import { afterAll, beforeAll, expect, it } from "vitest";
import { pageOf, readPage } from "../../../support/docs.ts";
import { ADMIN_TOKEN, askGateway, BASE } from "../../../support/e2e/operator-scene.ts";
import { clientOf, until } from "../../../support/e2e/scene.ts";
import { type Gateway, makeStateDir, startWorkerd } from "../../../support/gateway.ts";
import { freshKey, headerValue } from "../../../support/http.ts";
import { projectDir } from "../../../support/wrangler.ts";

const PAYMENTS = 120;
const PATH = "/v1/payments";
const PAGE = "src/operator/README.md";

let folder: string;
let gateway: Gateway;
let api: ChildProcess | null = null;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "onceway-runbook-"));
});
afterAll(async () => {
  api?.kill("SIGKILL");
  await gateway.stop();
  rmSync(gateway.stateDir, { recursive: true, force: true });
  rmSync(folder, { recursive: true, force: true });
});

interface Api {
  readonly port: number;
  /** Resolves when so many calls hang. */
  readonly hanging: (count: number) => Promise<void>;
  readonly kill: () => Promise<void>;
}

async function startApi(state: "up" | "down", port = 0): Promise<Api> {
  const child = fork(
    fileURLToPath(new URL("./payments-process.ts", import.meta.url)),
    [ledger(), String(port), state],
    {
      execArgv: [],
    },
  );
  api = child;
  const hangs = new Set<unknown>();
  const ready = new Promise<number>((resolve, reject) => {
    child.once("exit", () => reject(new Error("the API has ended")));
    child.on("message", (message) => {
      const { port: own, hangs: key } = v.parse(
        v.object({ port: v.optional(v.number()), hangs: v.optional(v.string()) }),
        message,
      );
      if (own !== undefined) resolve(own);
      if (key !== undefined) hangs.add(key);
    });
  });
  return {
    port: await ready,
    hanging: async (count) =>
      void (await until(() => Promise.resolve(hangs.size < count ? null : true), `${count} calls hang`)),
    async kill() {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}

const ledger = (): string => join(folder, "ledger.jsonl");

/** The keys in the ledger, in its order, with the responses that the API gave or would have given. */
function paid(): ReadonlyMap<string, string> {
  const lines = readFileSync(ledger(), "utf8").split("\n").filter(Boolean);
  const payments = lines.map((line) => v.parse(v.object({ key: v.string(), response: v.unknown() }), JSON.parse(line)));
  expect(new Set(payments.map(({ key }) => key)).size).toBe(payments.length);
  return new Map(payments.map(({ key, response }) => [key, JSON.stringify(response)]));
}

/** The shell blocks of the four steps. */
function steps(): readonly string[] {
  const { text } = readPage(PAGE);
  const chapter = /^## If you are called now\n([^]*?)^###/m.exec(text)?.[1] ?? "";
  return pageOf(PAGE, chapter)
    .blocks.filter(({ language }) => language === "sh")
    .map((block) => block.text);
}

async function statesOf(): Promise<Readonly<Record<string, number>>> {
  const { json } = await askGateway(`${gateway.url}${BASE}/records?limit=500`, "GET", {});
  const { records } = v.parse(v.object({ records: v.array(v.object({ state: v.string() })) }), json);
  const counts = Object.groupBy(records, ({ state }) => state);
  return Object.fromEntries(Object.entries(counts).map(([state, all = []]) => [state, all.length]));
}

it("settles every payment of an outage by its own truth, and makes none twice", async () => {
  const down = await startApi("down");
  gateway = await startWorkerd({
    stateDir: await makeStateDir(),
    vars: {
      IDEMPOTENCY: { origin: `http://127.0.0.1:${down.port}`, scope: ["none"], timeout: "20s", lock: "21s" },
      ROUTES: [{ path: PATH, unknown: "hold" }],
      ADMIN_TOKEN,
    },
  });
  const client = clientOf(gateway.url);
  const orders = Array.from({ length: PAYMENTS }, (_, number) => ({ number, key: freshKey() }));
  const pay = ({ number, key }: (typeof orders)[number]) =>
    client.send({ path: PATH, key, body: JSON.stringify({ number }), headers: [["content-type", "application/json"]] });

  // The outage.
  const broken = orders.map(pay);
  await down.hanging(PAYMENTS);
  await down.kill();
  const answers = await Promise.all(broken);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([502]));
  expect(await statesOf()).toEqual({ unknown: PAYMENTS });
  const before = paid();
  expect(before.size).toBe(PAYMENTS / 2);
  await startApi("up", down.port);

  // The four steps, as the page has them.
  const bin = join(folder, "bin");
  mkdirSync(bin);
  const command = [join(projectDir, "node_modules/.bin/node"), join(projectDir, "src/cli/onceway.ts")];
  writeFileSync(join(bin, "npx"), `#!/bin/sh\nshift\nexec ${command.join(" ")} "$@"\n`);
  chmodSync(join(bin, "npx"), 0o755);
  expect(steps()).toHaveLength(4);
  const { stdout } = await promisify(execFile)("bash", ["-c", `set -e\n${steps().join("\n")}`], {
    cwd: folder,
    env: {
      PATH: `${bin}:${join(projectDir, "node_modules/.bin")}:${process.env["PATH"]}`,
      ONCEWAY_URL: gateway.url,
      ONCEWAY_TOKEN: ADMIN_TOKEN,
      NO_COLOR: "1",
    },
    timeout: 120_000,
  });
  expect(stdout).toMatch(/60 decisions would be carried out: 60 resolve\n[^]*^carried out: 60 of 60 decisions$/m);
  expect(stdout).toMatch(/60 decisions would be carried out: 60 release\n[^]*^carried out: 60 of 60 decisions$/m);
  expect(await statesOf()).toEqual({ completed: PAYMENTS / 2, failed: PAYMENTS / 2 });

  // Every client tries again until it has its result.
  const results = await Promise.all(
    orders.map((order) =>
      until(async () => {
        const answer = await pay(order);
        return answer.status === 201 ? answer : null;
      }, "a released key is tried again when its lock has ended"),
    ),
  );
  const after = paid();
  expect(after.size).toBe(PAYMENTS);
  for (const [at, answer] of results.entries()) {
    const { number, key } = orders[at] ?? { number: -1, key: "" };
    expect(answer.body.toString()).toBe(after.get(key));
    expect(answer.body.toString()).toContain(`"pay_${number}"`);
    expect(headerValue(answer, "idempotent-replayed")).toBe(before.has(key) ? "true" : null);
  }
  expect(await statesOf()).toEqual({ completed: PAYMENTS });
  const replays = await Promise.all(orders.map(pay));
  expect(replays.map(({ body }) => body.toString())).toEqual(orders.map(({ key }) => after.get(key)));
  expect(paid().size).toBe(PAYMENTS);
});
