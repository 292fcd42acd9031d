// @module-tag needs/postgres
// The walk of docs/adoption.md, in short: the page's own files and commands, in a folder of its own, with the package from its archive, Express, and Postgres
// from this machine. Effects are counted in the database.

import { execFile } from "node:child_process";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { blockWith, pageOf, readPage } from "../../support/docs.ts";
import { emptyProject, type InstalledProject } from "../../support/e2e/installed-project.ts";
import { until } from "../../support/e2e/scene.ts";
import { freePort, untilAnswers } from "../../support/ports.ts";
import { programPath } from "../../support/programs.ts";
import type { ProcessGroup } from "../../support/process-group.ts";

const PAGE = "docs/adoption.md";
const NIGHT = "src/operator/README.md";
const SECONDS = 6;
const exec = promisify(execFile);

/** Postgres does not run as root. */
const UNPRIVILEGED = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

let project: InstalledProject & { readonly archive: string };
let [shopPort, gatewayPort, databasePort] = [0, 0, 0];
let shop: ProcessGroup | null = null;
let gateway: ProcessGroup | null = null;
beforeAll(async () => {
  project = await emptyProject();
  [shopPort, gatewayPort, databasePort] = [await freePort(), await freePort(), await freePort()];
}, 300_000);
afterAll(async () => {
  await gateway?.stop();
  await shop?.stop();
  await sh("pg_ctl -D database stop -m immediate", UNPRIVILEGED).catch(() => undefined);
  await project.remove();
});

/** The page's ports are others here, and traffic is shorter. */
function here(text: string): string {
  return text
    .replaceAll("5433", String(databasePort))
    .replaceAll(/\b3000\b/g, String(shopPort))
    .replaceAll("8787", String(gatewayPort))
    .replaceAll(/traffic\.mjs \d+/g, `traffic.mjs ${SECONDS}`)
    .replaceAll("../onceway-0.1.0.tgz", project.archive);
}

function block(text: string): string {
  return here(blockWith(PAGE, text));
}

/** Runs commands as a terminal does that has the page's variables. `as`: who runs them. */
async function sh(commands: string, as: typeof UNPRIVILEGED | null = null): Promise<string> {
  const has = existsSync(join(project.dir, ".dev.vars"));
  const lines = [
    "set -e",
    "export npm_config_audit=false npm_config_fund=false npm_config_prefer_offline=true",
    `export PATH="${dirname(programPath("postgres"))}:$PATH" ONCEWAY_URL=http://127.0.0.1:${gatewayPort}`,
    has ? `export ONCEWAY_TOKEN=${tokenOf()}` : "",
    block("export DATABASE_URL"),
    commands,
  ];
  const script = lines.join("\n");
  if (as === null) return project.run("bash", "-c", script);
  return (await exec("bash", ["-c", script], { cwd: project.dir, timeout: 300_000, ...as })).stdout;
}

function tokenOf(): string {
  return /^ADMIN_TOKEN=(.*)$/m.exec(readFileSync(join(project.dir, ".dev.vars"), "utf8"))?.[1] ?? "";
}

async function startShop(): Promise<void> {
  const url = /postgres:\S+/.exec(block("export DATABASE_URL"))?.[0] ?? "";
  shop = await project.start("env", `DATABASE_URL=${url}`, "node", "app.mjs");
  const failure = (): string | null => (shop?.hasExited() === true ? shop.output() : null);
  await untilAnswers({ port: shopPort, path: "/orders", timeoutMs: 60_000, failure });
}

async function killShop(): Promise<void> {
  process.kill(Number(readFileSync(join(project.dir, "app.pid"), "utf8")), "SIGKILL");
  await shop?.stop();
}

async function startGateway(): Promise<void> {
  await gateway?.stop();
  gateway = await project.start("npx", "onceway", "serve", "--secrets", ".dev.vars", "--port", String(gatewayPort));
  const failure = (): string | null => (gateway?.hasExited() === true ? gateway.output() : null);
  await untilAnswers({ port: gatewayPort, path: "/.well-known/idempotency", timeoutMs: 90_000, failure });
}

/** Writes the settings in place of everything from `[vars.IDEMPOTENCY]` on. */
function configure(settings: string): void {
  const file = join(project.dir, "wrangler.toml");
  const before = readFileSync(file, "utf8");
  writeFileSync(file, before.slice(0, before.indexOf("[vars.IDEMPOTENCY]")) + settings);
}

async function rows(table: string, what: string): Promise<number> {
  return Number(await sh(`psql "$DATABASE_URL" -Atc "SELECT ${what} FROM ${table}"`));
}

async function doubledIn(table: string): Promise<number> {
  return rows(table, "count(*) - count(DISTINCT reference)");
}

const reported = v.object({
  routes: v.array(v.object({ route: v.string(), counts: v.record(v.string(), v.number()) })),
});

async function doubledInReport(): Promise<Readonly<Record<string, number>>> {
  const { routes } = v.parse(reported, JSON.parse(await sh("npx onceway report --json")));
  return Object.fromEntries(routes.map(({ route, counts }) => [route, counts["effect:doubled"] ?? 0]));
}

const listed = v.object({ key: v.string(), state: v.string(), route: v.string() });

async function records(...options: readonly string[]): Promise<readonly v.InferOutput<typeof listed>[]> {
  const lines = await sh(`npx onceway records list ${options.join(" ")} --all --json`);
  return lines
    .split("\n")
    .filter(Boolean)
    .map((line) => v.parse(listed, JSON.parse(line)));
}

async function refund(reference: string): Promise<{ readonly status: number; readonly body: string }> {
  const headers = { "content-type": "application/json", "idempotency-key": reference, authorization: "Bearer shop" };
  const body = JSON.stringify({ reference, amount: 5 });
  const answer = await fetch(`http://127.0.0.1:${gatewayPort}/refunds`, { method: "POST", headers, body });
  return { status: answer.status, body: await answer.text() };
}

/**
 * Refunds that wait until the shop is dead. Then some are made, and some are not; as they are when a shop dies within a statement, which is not
 * often enough for a test.
 */
const GATE = `
CREATE TABLE gate AS SELECT true AS held;
CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE waited boolean := false;
BEGIN
  WHILE EXISTS (SELECT FROM gate) LOOP
    waited := true;
    PERFORM pg_sleep(0.02);
  END LOOP;
  IF waited AND NEW.reference LIKE 'unmade-%' THEN RAISE 'not made'; END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER gate BEFORE INSERT ON refunds FOR EACH ROW WHEN (NEW.reference LIKE '%made-%') EXECUTE FUNCTION wait_at_gate();
`;

/** Each step needs the one before it. */
describe("the walk of docs/adoption.md", { timeout: 600_000, shuffle: false }, () => {
  it("sets up the shop, its database, and the gateway's project", async () => {
    for (const name of ["app.mjs", "traffic.mjs"]) {
      writeFileSync(join(project.dir, name), here(blockWith(PAGE, `// ${name}`)));
    }
    await sh(block("express@5"));
    chmodSync(dirname(project.dir), 0o755);
    chmodSync(project.dir, 0o777);
    await sh(block("initdb"), UNPRIVILEGED);
    await startShop();
    await sh(block("onceway init"));
    configure(block('mode = "observe"'));
    const checked = await sh("npx onceway check");
    expect(checked).toContain("fine, 2 observed routes in 1 environment");
    expect(checked).not.toContain("no second effect");
    await startGateway();
  });

  it("observes: the report counts as doubled what the database has twice", async () => {
    await sh(block("npx onceway report"));
    const doubled = { "/orders": await doubledIn("orders"), "/refunds": await doubledIn("refunds") };
    expect(doubled["/orders"]).toBeGreaterThan(0);
    await until(async () => {
      const report = await doubledInReport();
      return report["/orders"] === doubled["/orders"] && report["/refunds"] === doubled["/refunds"] ? report : null;
    }, "the report counts all");
  });

  it("protects a tenth: these keys have one row each, and of the others all is observed", async () => {
    const before = await doubledInReport();
    const settings = block('mode = "observe"');
    configure(settings.replace('mode = "observe"\n', `mode = "observe"\n${block('enforce = "10%"')}`));
    await startGateway();
    await sh('psql "$DATABASE_URL" -qc "TRUNCATE orders, refunds"');
    await sh(block("node traffic.mjs 20\nnpx"));
    const keys = (await records()).map(({ key }) => key);
    const effects = await rows("orders", "count(DISTINCT reference)");
    expect(keys.length).toBeGreaterThan(0);
    expect(keys.length).toBeLessThan(effects / 2);
    const once = await Promise.all(
      keys.map((key) =>
        rows(
          "(SELECT * FROM orders UNION ALL SELECT * FROM refunds) AS made",
          `count(*) FILTER (WHERE reference = '${key}')`,
        ),
      ),
    );
    expect(once).toEqual(keys.map(() => 1));
    const doubled = (before["/orders"] ?? 0) + (await doubledIn("orders"));
    await until(async () => ((await doubledInReport())["/orders"] === doubled ? true : null), "the report counts all");
  });

  it("protects all: no key has two effects", async () => {
    configure(block('unknown = "verify"'));
    await startGateway();
    await sh(block("TRUNCATE"));
    expect([await doubledIn("orders"), await doubledIn("refunds")]).toEqual([0, 0]);
    expect(await rows("orders", "count(*)")).toBeGreaterThan(5);
  });

  /** Refunds that the database made although the shop was killed, and those that it did not. */
  const made = Array.from({ length: 4 }, (_, at) => `made-${at}`);
  const unmade = Array.from({ length: 3 }, (_, at) => `unmade-${at}`);

  it("loses the shop under load, and settles orders by the shop's own list", async () => {
    const [, traffic = ""] = /& (node .*)/.exec(block("kill -9")) ?? [];
    const before = await rows("orders", "count(*)");
    const load = sh(traffic);
    await until(async () => ((await rows("orders", "count(*)")) > before ? true : null), "the load makes orders");
    writeFileSync(join(project.dir, "gate.sql"), GATE);
    await sh('psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -qf gate.sql');
    const lost = [...made, ...unmade].map(refund);
    const waiting = "count(*) FILTER (WHERE wait_event = 'PgSleep')";
    await until(
      async () => ((await rows("pg_stat_activity", waiting)) === lost.length ? true : null),
      "the refunds wait at the gate",
    );
    await killShop();
    for (const { status } of await Promise.all(lost)) expect(status).toBe(502);
    expect((await records("--state", "unknown")).length).toBeGreaterThanOrEqual(lost.length);
    await sh('psql "$DATABASE_URL" -qc "DELETE FROM gate"');
    const late = "count(*) FILTER (WHERE reference LIKE 'made-%')";
    await until(async () => ((await rows("refunds", late)) === made.length ? true : null), "the refunds are made");
    await startShop();
    await load;
    await until(
      async () => ((await records("--state", "unknown", "--route", "/orders")).length === 0 ? true : null),
      "orders are settled",
      120_000,
    );
    expect([await doubledIn("orders"), await doubledIn("refunds")]).toEqual([0, 0]);
  });

  it("has the rest decided by what is in the database: nothing is unknown, and nothing is there twice", async () => {
    const { text } = readPage(NIGHT);
    const chapter = /^## If you are called now\n([^]*?)^###/m.exec(text)?.[1] ?? "";
    const [, ...night] = pageOf(NIGHT, chapter)
      .blocks.filter(({ language }) => language === "sh")
      .map((one) => one.text);
    const [joining = "", happened = "", rest = ""] = night;
    const guarded = (commands: string, file: string): string => `if [ -s ${file} ]; then\n${commands}\nfi`;
    await sh(
      [block("unknown.jsonl"), joining, guarded(happened, "happened.jsonl"), guarded(rest, "rest.jsonl")].join("\n"),
    );
    expect(await records("--state", "unknown")).toEqual([]);
    for (const reference of [...made, ...unmade]) {
      const { status, body } = await refund(reference);
      expect(status).toBe(201);
      expect(JSON.parse(body)).toMatchObject({ reference, amount: 5 });
    }
    expect(await rows("refunds", "count(*) FILTER (WHERE reference LIKE '%made-%')")).toBe(made.length + unmade.length);
    expect([await doubledIn("orders"), await doubledIn("refunds")]).toEqual([0, 0]);
  });
});
