// The documentation keeps its word: links lead somewhere, scripts and paths exist, examples are valid, and every command is run
// by some test as it is written, or says why not.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename, join, normalize } from "node:path";
import { parse } from "smol-toml";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { checkWranglerConfig } from "../../src/cli/check/file.ts";
import { packedFiles, packedPage } from "../../src/cli/packed-files.ts";
import { blockWith, commandsOf, type Page, pageOf, readPage, readPages } from "../support/docs.ts";
import { projectDir } from "../support/wrangler.ts";

const pages = readPages();
const README = readPage("README.md");
const GUARANTEES = readPage("docs/guarantees.md");
const audiencePages = pages.filter(({ folder }) => folder !== ".");

function rowsOf({ prose }: Page): readonly string[] {
  return [...prose.matchAll(/^\|.*\|$/gm)].map(([row]) => row);
}

/** The guarantees that a page lists, by number and name. */
function namesOf({ text }: Page): readonly string[] {
  return [...text.matchAll(/^- \*\*(G\d+ [^*]+)\*\*/gm)].map(([, name = ""]) => name);
}

function isThere(path: string): boolean {
  return existsSync(join(projectDir, path));
}

function lineCount({ text }: Page): number {
  return text.trimEnd().split("\n").length;
}

/** Without code, in which brackets are no links. */
function linksOf({ prose }: Page): readonly string[] {
  return [...prose.replaceAll(/`[^`\n]*`/g, "code").matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
}

/** The names that GitHub gives headings, and those that are written out. */
function anchorsOf({ prose }: Page): readonly string[] {
  const headings = [...prose.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-"),
  );
  return [...headings, ...[...prose.matchAll(/<a id="([^"]+)">/g)].map(([, id = ""]) => id)];
}

/** Files that the reader has or makes. */
const EXAMPLES: ReadonlySet<string> = new Set([
  "answer.json",
  "path/to/wrangler.toml",
  "wrangler.json",
  "test/features/NAME",
]);

/** A file or folder of the project, as prose names it. Routes and media types begin or end otherwise. */
function isPath(code: string): boolean {
  const isInFolder = /^(?:docs|src|test|\.ci)\/[\w./-]*$/.test(code);
  return isInFolder || /^\w[\w./-]*\.(?:ts|tsx|toml|json|md|sh|yaml)$/.test(code);
}

/** From the project's root; without the anchor. */
function targetOf(page: Page, link: string): string {
  const [path = ""] = link.split("#");
  return path === "" ? page.path : normalize(join(page.folder, path));
}

describe.each(pages.map((page) => [page.path, page] as const))("%s", (_path, page) => {
  it("has links that lead somewhere", () => {
    const dead = linksOf(page).filter((link) => {
      if (link.startsWith("https://")) return false;
      const target = targetOf(page, link);
      const [, anchor] = link.split("#");
      if (!isThere(target)) return true;
      return anchor !== undefined && !anchorsOf(readPage(target)).includes(anchor);
    });
    expect(dead).toEqual([]);
  });

  it("has headings that can be told apart", () => {
    const anchors = anchorsOf(page);
    expect(anchors).toEqual([...new Set(anchors)]);
  });

  it("names scripts that exist", () => {
    const { scripts } = v.parse(
      v.object({ scripts: v.record(v.string(), v.string()) }),
      JSON.parse(readFileSync(join(projectDir, "package.json"), "utf8")),
    );
    const named = [...page.text.matchAll(/npm run ([\w:-]+)/g)].map(([, name = ""]) => name);
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  });

  it("names paths that exist", () => {
    // A link's text is the name of what it leads to.
    const misnamed = [...page.prose.matchAll(/\[`([^`\n]+)`\]\(([^)\s]+)\)/g)].filter(
      ([, text = "", link = ""]) =>
        text.includes(".") && isPath(text) && basename(text) !== basename(targetOf(page, link)),
    );
    const named = [...page.prose.replaceAll(/\[`[^`\n]+`\]\(/g, "").matchAll(/`([^`\n]+)`/g)].map(
      ([, code = ""]) => code,
    );
    const paths = named.filter((code) => isPath(code) && !EXAMPLES.has(code));
    expect(misnamed.map(([link]) => link)).toEqual([]);
    expect(paths.filter((path) => !isThere(path) && !isThere(join(page.folder, path)))).toEqual([]);
  });
});

it.each(audiencePages.map((page) => [page.path, page] as const))("%s says first who needs it", (_path, { text }) => {
  expect(text).toMatch(/^# .+\n\nThis page is for \w/);
});

describe("README.md", () => {
  it("fits in 120 lines, and the map of the code in 90", () => {
    expect(lineCount(README)).toBeLessThanOrEqual(120);
    expect(lineCount(readPage("src/README.md"))).toBeLessThanOrEqual(90);
  });

  it("leads to every other page", () => {
    const reached = new Set([README.path]);
    for (const path of reached) {
      const page = readPage(path);
      for (const link of linksOf(page)) {
        if (/^[^#]*\.md(?:#|$)/.test(link) && !link.startsWith("https:")) reached.add(targetOf(page, link));
      }
    }
    expect(pages.map(({ path }) => path).filter((path) => !reached.has(path))).toEqual([]);
  });

  it("names each guarantee of its page", () => {
    expect(namesOf(README)).toEqual(namesOf(GUARANTEES));
  });

  it("shows eight situations, with statuses and codes of the contract", () => {
    const cells = (row: string): readonly string[] => row.split("|").map((cell) => cell.trim());
    const contract = new Set(
      rowsOf(readPage("docs/contract.md")).map((row) => {
        const [, , status = "", code = ""] = cells(row);
        return `${status.slice(0, 3)} ${code}${status.includes("`Retry-After`") ? ", `Retry-After`" : ""}`;
      }),
    );
    const rows = rowsOf(README);
    const begin = rows.indexOf("| situation | answer | the client |");
    const answers = rows.slice(begin + 2, begin + 10).map((row) => cells(row)[2] ?? "");
    expect(answers.slice(0, 2)).toEqual(["the API's", "the first answer, replayed"]);
    expect(answers.slice(2).filter((answer) => !contract.has(answer))).toEqual([]);
    expect(answers).toHaveLength(8);
  });

  it("gives the figures of the page about speed and cost", () => {
    const { text } = readPage("test/bench/README.md");
    const cells = (row: string): readonly string[] =>
      (new RegExp(`^\\| ${row} \\|(.*)\\|$`, "m").exec(text)?.[1] ?? "").split("|").map((cell) => cell.trim());
    const [first = "", straight = ""] = ["first", "straight"].map((row) => cells(row).at(-1)?.split(" ")[0]);
    const added = (Number(first) - Number(straight)).toFixed(2);
    expect(README.text).toContain(
      `- **${added} ms more** for a first request: ${first} instead of ${straight} through `,
    );
    const [few = "", many = ""] = ["10 a second over 64 shards", "1000 a second"].map(
      (rate) => cells(`first requests, ${rate}`)[1],
    );
    expect(README.text).toContain(
      `- **$${few} for a million** first requests at 10 a second, $${many} at 1,000 a second`,
    );
  });

  it("shows a configuration that passes the check", () => {
    const bindings = { durable_objects: { bindings: [{ name: "KEY_SHARD", class_name: "KeyShard" }] } };
    const [{ problems, warnings } = { problems: null, warnings: null }] = checkWranglerConfig({
      ...parse(readFileSync(join(projectDir, "wrangler.toml"), "utf8")),
      ...bindings,
      ...parse(blockWith("README.md", "[vars.IDEMPOTENCY]")),
    });
    expect([problems, warnings]).toEqual([[], []]);
  });
});

it(".github/CONTRIBUTING.md quotes words that are where it says, and the test that approves them", () => {
  const { text } = readPage(".github/CONTRIBUTING.md");
  const [, words = "nothing"] = /git grep "([^"]+)"/.exec(text) ?? [];
  for (const path of ["src/kernel/record/problem.ts", "test/words/problems.txt"]) {
    expect(text).toContain(`\`${path}\``);
    expect(readFileSync(join(projectDir, path), "utf8")).toContain(words);
  }
  expect(readFileSync(join(projectDir, "test/kernel/unit/record/problem-texts.test.ts"), "utf8")).toContain(
    'expectApproved("problems"',
  );
});

it("docs/guarantees.md links each guarantee to tests", () => {
  const guarantees = [...GUARANTEES.text.matchAll(/^- \*\*(G\d+) (.*?)(?=^- |^$)/gms)];
  expect(guarantees.map(([, number]) => number)).toEqual(Array.from({ length: 12 }, (_, index) => `G${index + 1}`));
  for (const [, , text = ""] of guarantees) expect(text).toMatch(/\]\(\.\.\/test\/[\w/-]+\.test\.ts\)/);
});

describe("the archive of the package", () => {
  const files = packedFiles(projectDir);
  const packed = new Set(files);
  const WEB = { repository: "https://github.com/onceway/onceway", version: "0.1.0" };
  const archived = new Map(
    files
      .filter((path) => path.endsWith(".md"))
      .map((path) => [path, pageOf(path, packedPage(path, readPage(path).text, packed, WEB))]),
  );

  it("has the pages for users, and what they name", () => {
    expect(files).toEqual(
      expect.arrayContaining([
        "README.md",
        "docs/contract.md",
        "src/kernel/config/README.md",
        "src/operator/README.md",
        "src/operator/grafana/alerts.yaml",
        "src/operator/grafana/dashboard.json",
        "src/operator/openapi.json",
        "src/serve/processes/haproxy.cfg",
        "src/serve/processes/onceway@.service",
      ]),
    );
    expect(files.filter((path) => !isThere(path) || path.endsWith(".png"))).toEqual([]);
  });

  it.each([...archived])("%s leads to what the archive has, or to what the repository has on the web", (path, page) => {
    const onWeb = `${WEB.repository}/`;
    const dead = linksOf(page).filter((link) => {
      if (link.startsWith(onWeb)) {
        const [, target = "", anchor] =
          /^(?:blob|raw)\/v[\d.]+\/([^#]*)(?:#(.*))?$/.exec(link.slice(onWeb.length)) ?? [];
        return (
          !isThere(target) ||
          packed.has(target) ||
          (anchor !== undefined && !anchorsOf(readPage(target)).includes(anchor))
        );
      }
      if (link.startsWith("https://")) return false;
      const target = targetOf(page, link);
      const [, anchor] = link.split("#");
      if (!packed.has(target)) return true;
      return anchor !== undefined && !anchorsOf(archived.get(target) ?? page).includes(anchor);
    });
    expect(dead).toEqual([]);
    expect(path).toBe(page.path);
  });
});

/** What runs a command: a file, and the text in it that does. Or why nothing can. */
type Run = readonly [file: string, text: string] | { readonly notRun: string };

const NEEDS_ACCOUNT: Run = { notRun: "needs a Cloudflare account" };
const TAKES_LONG: Run = { notRun: "takes minutes on a machine of its own" };

const RUNBOOK: Run = ["test/features/decisions/e2e/runbook.test.ts", "steps()"];

const ADOPTION = "test/package/e2e/adoption.test.ts";
const WALK = (text: string): Run => [ADOPTION, `block(${text}`];

/** Blocks that a test runs whole, by their first command. */
const BLOCKS: Readonly<Record<string, Run>> = {
  "asof=$(node -p 'new Date().toISOString()')": RUNBOOK,
  "cat > join.mjs <<'END'": RUNBOOK,
  'npx onceway records decide --file happened.jsonl --as-of "$asof" --dry-run': RUNBOOK,
  'npx onceway records decide --file rest.jsonl --as-of "$asof" --dry-run': RUNBOOK,
  "npm install ../onceway-0.1.0.tgz express@5 pg@8": WALK('"express@5"'),
  'export PATH="$PATH:$(ls -d /usr/lib/postgresql/*/bin | tail -1)"': WALK('"export DATABASE_URL"'),
  "initdb -D database -U shop -A trust > initdb.log": WALK('"initdb"'),
  "npx onceway init . --yes --name shop --origin http://127.0.0.1:3000 --route /orders --route /refunds --near weur":
    WALK('"onceway init"'),
  "node traffic.mjs 10": WALK('"npx onceway report"'),
  "node traffic.mjs 20": WALK('"node traffic.mjs 20\\nnpx"'),
  'psql "$DATABASE_URL" -c "TRUNCATE orders, refunds"': WALK('"TRUNCATE"'),
  "(sleep 6; kill -9 $(cat app.pid)) & node traffic.mjs 20": WALK('"kill -9"'),
  "key=$(openssl rand -hex 16)": ["test/client/e2e/clients.test.ts", "examples.curl"],
  "export ADMIN_TOKEN=only-for-this-machine-0123456789abcdef": [
    "test/serve/e2e/demo-start.test.ts",
    "runBlock(blockWith(OPERATING",
  ],
};

const NEWCOMER = "test/package/e2e/newcomer.test.ts";

const COMMANDS: Readonly<Record<string, Run>> = {
  "npm ci && npm start": ["test/serve/e2e/demo-start.test.ts", "src/demo/start.ts"],
  "ORIGIN=http://127.0.0.1:3000 npm start": ["test/serve/e2e/demo-start.test.ts", "[name]: origin.url"],
  "npx onceway try http://127.0.0.1:8787/v1/payments --data '{\"amount\":100}' --mismatch --yes": [
    "test/serve/e2e/demo-start.test.ts",
    '"npx onceway try http"',
  ],
  "npx onceway verify /checkout_sessions/cs_1/complete --key 4711 --data '{}' --header @headers.txt": [
    "test/cli/e2e/verify.test.ts",
    'verify("/checkout_sessions/cs_1/complete", "--data", "{}")',
  ],
  'npx onceway try --queue orders --data \'{"id":"try-1","amount":5}\' --yes': [
    "test/features/queues/e2e/wrangler.test.ts",
    '"try", "--queue"',
  ],
  "npm run check-config": ["test/check.ts", "src/cli/onceway.ts"],
  "npx wrangler deploy --dry-run": ["test/cli/e2e/init.test.ts", '"deploy", "--dry-run"'],
  "npx onceway check --against https://api.example.com": [
    "test/features/previous-shards/e2e/command.test.ts",
    '"--against"',
  ],
  'npx onceway callers forget --scope header:authorization --dry-run --reason "asked to be erased" < credential.txt': [
    "test/features/callers/e2e/forget-scope.test.ts",
    '"--dry-run"',
  ],
  'npx onceway callers forget --scope header:authorization --yes --reason "asked to be erased" < credential.txt': [
    "test/features/callers/e2e/forget-scope.test.ts",
    '"--yes"',
  ],
  'npx onceway records release --all --route /v1/payments --state unknown --dry-run --reason "not in the ledger"': [
    "test/features/bulk/e2e/change-all.test.ts",
    '"--dry-run"',
  ],
  'npx onceway records release --all --route /v1/payments --state unknown --yes --as-of 2026-11-23T03:12:40.118Z --reason "not in the ledger"':
    ["test/features/bulk/e2e/change-all.test.ts", '"--as-of"'],
  "npx onceway records decide --file decisions.jsonl --dry-run": [
    "test/features/decisions/e2e/decide.test.ts",
    '"--dry-run"',
  ],
  "npx onceway records decide --file decisions.jsonl --yes --as-of 2026-11-23T03:12:40.118Z": [
    "test/features/decisions/e2e/decide.test.ts",
    '"--yes", "--as-of"',
  ],
  "npx onceway conformance http://127.0.0.1:8787 --path /v1/payments --origin-port 3000": [
    "test/kernel/e2e/contract/conformance-suite.test.ts",
    '"--origin-port"',
  ],
  'npx onceway conformance https://api.example.com/v1/payments --body \'{"amount":100,"reference":"{token}"}\' --other-body \'{"amount":101,"reference":"{token}"}\' --caller @caller.txt --other-caller @other-caller.txt':
    ["test/kernel/e2e/contract/conformance-suite.test.ts", '"--other-body"'],
  "npx onceway conformance https://shop.example.com/mcp --profile mcp --tool pay --arguments '{\"amount\":25}' --other-arguments '{\"amount\":26}'":
    ["test/features/json-rpc/e2e/mcp-conformance.test.ts", '"--other-arguments"'],
  "npx onceway conformance https://seller.example.com/mcp --profile adcp --caller @caller.txt --arguments @buy.json --other-arguments @other-buy.json":
    ["test/features/presets/e2e/preset-conformance.test.ts", '"--other-arguments"'],
  "npx onceway openapi openapi.yaml --output keys.overlay.yaml": [
    "test/cli/unit/openapi/openapi.test.ts",
    '"--output"',
  ],
  "npx onceway events list": ["test/features/outbox/e2e/operators.test.ts", '"events", "list"'],
  'npx onceway events resend billing --state dead --dry-run --reason "the receiver works again"': [
    "test/features/outbox/e2e/operators.test.ts",
    '"resend", "billing", "--dry-run"',
  ],
  'npx onceway events resend billing --state dead --yes --reason "the receiver works again"': [
    "test/features/outbox/e2e/operators.test.ts",
    '"resend", "billing", "--yes"',
  ],
  'npx onceway claims set-position --group billing --stream orders --partition 0 --next 42 --reason "41 cannot be read"':
    ["test/features/claims/e2e/operators.test.ts", '"--next", "42"'],
  "npx onceway claims list --group billing": [
    "test/features/claims/e2e/operators.test.ts",
    '"claims", "list", "--group", "billing"',
  ],
  "npx onceway records list --route claims:billing --state started,unknown,failed": [
    "test/features/claims/e2e/operators.test.ts",
    '"started,unknown,failed"',
  ],
  "npx onceway report --since 7d": ["test/features/observe/e2e/report.test.ts", 'runOnceway(["report"'], // feature: observe
  "npx onceway audit list --since 24h --by ann": [
    "test/features/audit/e2e/audit.test.ts",
    '"audit", "list", "--by", "ann", "--since"',
  ],
  "npx onceway audit export audit.ndjson": ["test/features/audit/e2e/audit.test.ts", '"audit", "export", file'],
  "npx onceway layouts list": ["test/features/previous-shards/e2e/command.test.ts", 'onceway("layouts", "list")'],
  "npx onceway layouts close 64": ["test/features/previous-shards/e2e/command.test.ts", '"layouts", "close", "3"'],
  "for n in 0 1; do npx onceway check --against https://ops-$n.example.com || break; done": [
    "test/features/previous-shards/e2e/command.test.ts",
    '"--against"',
  ],
  "npx onceway layouts close 64 --url https://ops-0.example.com --url https://ops-1.example.com": [
    "test/features/previous-shards/e2e/command.test.ts",
    '"layouts", "close", "64", "--url"',
  ],
  "npx onceway layouts list --url https://ops-0.example.com --url https://ops-1.example.com": [
    "test/features/previous-shards/e2e/command.test.ts",
    '"layouts", "list"',
  ],
  "npx wrangler login": NEEDS_ACCOUNT,
  "npx wrangler deploy": NEEDS_ACCOUNT,
  "openssl rand -hex 32": ["test/client/e2e/clients.test.ts", "examples.curl"],
  "npx wrangler secret put ADMIN_TOKEN": NEEDS_ACCOUNT,
  "npx wrangler secret put READ_TOKEN": NEEDS_ACCOUNT,
  "mkdir my-gateway && cd my-gateway": ["test/support/e2e/installed-project.ts", "mkdir(dir)"],
  "npm install ../onceway-0.1.0.tgz": [NEWCOMER, "project().archive"],
  "npx onceway init": [NEWCOMER, '"init"'],
  "npm install": [NEWCOMER, '"npm", "install"'],
  "npx onceway check": [NEWCOMER, '"onceway", "check"'],
  "npx wrangler dev": [NEWCOMER, '"wrangler", "dev"'],
  "npx onceway try http://127.0.0.1:8787/v1/payments --data '{}' --yes": [NEWCOMER, '"--data", "{}", "--yes"'],
  "npx onceway serve --help": ["test/serve/unit/options.test.ts", '"--help"'],
  "node app.mjs": [ADOPTION, '"node", "app.mjs"'],
  "npx onceway serve --secrets .dev.vars": [ADOPTION, '"serve", "--secrets", ".dev.vars"'],
  "npx onceway records list --state unknown": [ADOPTION, '"--state", "unknown"'],
  'psql "$DATABASE_URL" -c "SELECT count(*) AS refunds, count(*) - count(DISTINCT reference) AS doubled FROM refunds"':
    [ADOPTION, "count(DISTINCT reference)"],
  "npx onceway serve": [NEWCOMER, '"onceway", "serve", "--port"'],
  "npx onceway serve health": [NEWCOMER, '"serve", "health"'],
  "systemctl enable --now onceway@{00..01}": {
    notRun: "systemd is not in the test machine; test/serve/unit/processes.test.ts reads the unit",
  },
  "npx onceway serve --operator-port 8788": ["test/serve/e2e/serve-configuration.test.ts", "--operator-port"],
  "npm ci && npm test": [".ci/run", "tests npm test"],
  "npm ci": [".ci/run", "npm ci"],
  "npm test": [".ci/run", "tests npm test"],
  "npm run test:programs": [".ci/run", "tests npm run test:programs"],
  "npm run test:long": [".ci/run", "tests npm run test:long"],
  "npm run test:all": { notRun: "continuous integration runs its three parts" },
  "npx vitest run test/kernel/unit/record/verdict.test.ts": { notRun: "it is one file of npm test" },
  "npm test -- --sequence.shuffle.files --sequence.shuffle.tests --sequence.seed 7": {
    notRun: "it is npm test in another order",
  },
  "npm run test:changed": ["test/support/unit/changed.test.ts", "runsFor(["],
  "npm run mutants": ["test/support/unit/mutants.test.ts", "findMutants("],
  "npm run mutants -- --count 200 --seed 1": { notRun: "takes hours" },
  "npm run setup": [".ci/run", "npm run setup -- --yes"],
  "npx vitest run --project unit -u": { notRun: "it writes the approved words anew" },
  "ONCEWAY_STALLS=800 npx vitest run --project e2e": {
    notRun: "it runs the tests themselves, on a machine that is made slow",
  },
  "npm run check": [".ci/run", "npm run check -- --quick"],
  "npm run check -- --quick": [".ci/run", "npm run check -- --quick"],
  "npm run remove-feature -- --prove --turn": [".ci/run", "npm run remove-feature -- --prove --turn"],
  "npm run remove-feature -- --prove claims": { notRun: "continuous integration runs it for one feature at a time" },
  "npm run format": ["test/check.ts", "oxfmt"],
  "npm run generate": ["test/check.ts", "generate"],
  "npx onceway conformance http://127.0.0.1:8787 --path /checkout_sessions --origin-port 3000 --profile acp": [
    "test/features/presets/e2e/preset-conformance.test.ts",
    'conform("acp", ',
  ],
  "npx onceway conformance http://127.0.0.1:8787 --path /mcp --origin-port 3000 --profile mcp": [
    "test/features/presets/e2e/preset-conformance.test.ts",
    'conform("mcp", ',
  ],
  "npx onceway conformance http://127.0.0.1:8787 --path /checkout-sessions --origin-port 3000 --profile ucp": [
    "test/features/presets/e2e/preset-conformance.test.ts",
    'conform("ucp", ',
  ],
  "npx onceway conformance http://127.0.0.1:8787 --path /mcp --origin-port 3000 --profile ucp-mcp": [
    "test/features/presets/e2e/preset-conformance.test.ts",
    'conform("ucp-mcp", ',
  ],
  "npx onceway conformance http://127.0.0.1:8787 --path /mcp --origin-port 3000 --profile adcp": [
    "test/features/presets/e2e/preset-conformance.test.ts",
    'conform("adcp", ',
  ],
  "npm run demo:mcp": ["test/serve/e2e/demo-mcp.test.ts", "demo:mcp"],
  "npm run chaos": [".ci/run", "npm run chaos"],
  "npm run chaos -- --seconds 60 --seed anything": [".ci/run", "npm run chaos -- --seconds 60 --seed"],
  "npm run simulate": { notRun: "takes minutes; the test below runs a hundred interleavings" },
  "npm run simulate -- --interleavings 100000 --seed 1": { notRun: "the same" },
  "npm run simulate -- --layouts --interleavings 100000 --seed 1": {
    notRun: "takes minutes; test/features/previous-shards/simulation/layouts.test.ts runs 1,500 interleavings",
  },
  "npm run bench -- cost": ["test/docs/docs.test.ts", '["bench", "cost"]'],
  "npx node test/features/previous-shards/rounds/run.ts --requests 10000 --kills 20 --seed anything": [
    "test/features/previous-shards/e2e/mixed.test.ts",
    "judgedRound(",
  ],
  "npm run bench -- encrypted": TAKES_LONG,
  "npx node test/features/claims/rounds/run.ts --rounds 10": ["test/features/claims/e2e/brokers.test.ts", "killRound("],
  "npx node test/features/queues/rounds/run.ts --kills 200": ["test/features/queues/e2e/crash.test.ts", "runRound("],
  "npx node test/features/queues/rounds/run.ts --kills 50 --seed 11 verify": [
    "test/features/queues/e2e/crash.test.ts",
    "runRound(",
  ],
  "npx node test/features/accepted/rounds/run.ts --kills 160": [
    "test/features/accepted/e2e/accepted-crash.test.ts",
    "runRound(",
  ],
  "npm run bench -- accepted": TAKES_LONG,
  "npm run bench -- claims": TAKES_LONG,
  "npm run bench -- queues": TAKES_LONG,
  "npm run bench -- transition": TAKES_LONG,
  "npm run bench -- volume": [".ci/run", "bench -- volume --short"],
  "npm run bench -- throughput": TAKES_LONG,
  "npm run bench -- versus": TAKES_LONG,
  "npm run bench -- ladder": TAKES_LONG,
  "npm run bench -- instructions": TAKES_LONG,
  "npm run bench -- cores": TAKES_LONG,
  "npm run bench -- connect": TAKES_LONG,
  "npm run bench -- fingerprint": TAKES_LONG,
  "npm run bench -- keys": TAKES_LONG,
  "npm run bench -- streams": TAKES_LONG,
  "npm run bench -- operator": TAKES_LONG,
  "npm run bench -- console": TAKES_LONG,
  "npm run bench -- growth": TAKES_LONG,
  "npm run bench -- slices": TAKES_LONG,
  "npm run bench -- forget": TAKES_LONG,
  "npm run bench -- rows": TAKES_LONG,
  "npm run bench -- startup": TAKES_LONG,
  "npm run bench -- runtime": TAKES_LONG,
  "npx node test/support/console-picture.ts": { notRun: "writes a picture, which a person looks at" },
};

/** What is printed for other programs, by page and language. */
const OTHER_BLOCKS: Readonly<Record<string, Run>> = {
  "docs/adoption.md js": [ADOPTION, "blockWith(PAGE"],
  "src/features/claims/README.md js": ["test/features/claims/e2e/once.test.ts", "blockWith"],
  "src/client/README.md js": ["test/client/e2e/clients.test.ts", "examples.client"],
  "src/features/problem-shapes/README.md json": [
    "test/features/problem-shapes/e2e/problem-shapes.test.ts",
    "blockWith",
  ],
  "src/features/decisions/README.md json": ["test/features/decisions/unit/decision-lines.test.ts", "blockWith"],
  "src/features/look-up/README.md http": ["test/features/look-up/e2e/look-up.test.ts", "blockWith"],
  "src/features/look-up/README.md json": ["test/features/look-up/e2e/look-up.test.ts", "blockWith"],
  "src/features/graphql/README.md graphql": ["test/features/graphql/e2e/graphql.test.ts", "blockWith"],
  "src/package/README.md ts": [NEWCOMER, "blockWith(PAGE"],
  "src/package/README.md json": ["test/cli/unit/init-json.test.ts", "blockWith"],
  "src/features/outbox/README.md json": ["test/features/outbox/unit/cloud-event.test.ts", "toEqual"],
  "src/features/outbox/README.md js": ["test/features/outbox/unit/send-events.test.ts", "Webhook"],
  "src/serve/README.md nginx": ["test/support/proxies.ts", "startProxy"],
  "src/serve/README.md haproxy": ["test/support/proxies.ts", "startProxy"],
  "src/serve/README.md ini": { notRun: "systemd is not in the test machine" },
  "src/serve/README.md dockerfile": { notRun: "the page says so" },
  "src/kernel/traffic/README.md yaml": ["test/serve/e2e/demo-start.test.ts", "scrape_configs"],
  "src/kernel/traffic/README.md sql": { notRun: "Analytics Engine is on Cloudflare only" },
  "src/kernel/traffic/README.md json": { notRun: "a line of the log, shortened" },
};

function runsOf(page: Page): readonly (readonly [command: string, Run | undefined])[] {
  return page.blocks
    .filter(({ language }) => language === "sh")
    .flatMap((block) => {
      const commands = commandsOf(block);
      const [first = ""] = commands;
      const whole = BLOCKS[first];
      return whole === undefined
        ? commands.map((command) => [command, COMMANDS[command]] as const)
        : [[first, whole] as const];
    });
}

function isRun(run: Run): boolean {
  if ("notRun" in run) return true;
  const [file, text] = run;
  return isThere(file) && readFileSync(join(projectDir, file), "utf8").includes(text);
}

describe("every command", () => {
  const all = pages.flatMap(runsOf);

  it("is run by a test, or says why not: a new one needs a line in this table", () => {
    expect(all.filter(([, run]) => run === undefined || !isRun(run)).map(([command]) => command)).toEqual([]);
  });

  it("of the table is still printed", () => {
    const printed = new Set(all.map(([command]) => command));
    expect([...Object.keys(BLOCKS), ...Object.keys(COMMANDS)].filter((command) => !printed.has(command))).toEqual([]);
  });

  it("and block of another language too", () => {
    const others = pages.flatMap(({ path, blocks }) =>
      blocks
        .filter(({ language }) => !["", "sh", "toml"].includes(language))
        .map(({ language }) => `${path} ${language}`),
    );
    expect([...new Set(others)].toSorted()).toEqual(Object.keys(OTHER_BLOCKS).toSorted());
    expect(Object.entries(OTHER_BLOCKS).filter(([, run]) => !isRun(run))).toEqual([]);
  });
});

it.each([
  [["bench", "cost"], /first requests/],
  [["simulate", "--interleavings", "100", "--seed", "1"], /^violations +0$/m],
])("npm run %j does what the page says", ([script = "", ...args], said) => {
  const { status, stdout } = spawnSync("npm", ["run", script, "--", ...args], { cwd: projectDir, encoding: "utf8" });
  expect([status, stdout]).toEqual([0, expect.stringMatching(said)]);
});

it("every block of TOML can be read", () => {
  const blocks = pages.flatMap(({ blocks: all }) => all).filter(({ language }) => language === "toml");
  expect(blocks.length).toBeGreaterThan(0);
  for (const { text } of blocks) expect(Object.keys(parse(text))).not.toEqual([]);
});
