// What is in a project that `onceway init` makes: everything that a gateway needs to be checked, run and deployed by itself. Pure.

import { isTable } from "../kernel/config/table.ts";

/** The versions that a project asks npm for. */
export interface ProjectVersions {
  /** What npm installed, or a path to its archive: `file:../onceway-0.1.0.tgz`. */
  readonly onceway: string;
  readonly wrangler: string;
  /** wrangler needs Node 22; `null` if the machine's own will do. */
  readonly node: string | null;
}

const PACKAGE = "node_modules/onceway";

/** A project has its own entry, so that there is a place for code of its own. */
export const PROJECT_PATHS = {
  main: "src/index.ts",
  schema: `./${PACKAGE}/dist/kernel/config/wrangler.schema.json`,
  settings: `${PACKAGE}/src/kernel/config/README.md`,
};

export const ENTRY = `export { default, KeyShard, Operators } from "onceway/worker";
`;

/** Of a Hono application: its handlers are the origin. */
export const HONO_ENTRY = `import { Hono } from "hono";
import { idempotency, originOf } from "onceway/hono";

const app = new Hono();

app.use(idempotency());
app.post("/v1/payments", (c) => c.json({ payment: crypto.randomUUID() }, 201));

export default app;
export class Origin extends originOf(app) {}
export { KeyShard } from "onceway/hono";
`;

export const IGNORED = `node_modules
.wrangler
.onceway
.dev.vars*
`;

/** The project's .gitignore: what was there, and what it lacks, so that no token is committed. Later lines win, as in Git. */
export function ignoreFile(before: string): string {
  const there = new Set(before.split("\n").map((line) => line.trim().replace(/^\//, "").replace(/\/$/, "")));
  const lacking = IGNORED.split("\n").filter((line) => line !== "" && !there.has(line));
  if (lacking.length === 0) return before;
  return `${before}${before === "" || before.endsWith("\n") ? "" : "\n"}${lacking.join("\n")}\n`;
}

const SCRIPTS = { check: "onceway check", dev: "wrangler dev", deploy: "onceway check && wrangler deploy" };

/** These packages bring programs, which npm may fetch with a script. */
const WITH_SCRIPTS = { esbuild: true, node: true, workerd: true };

type PackageJson = Readonly<Record<string, unknown>>;

const SECTIONS = ["scripts", "dependencies", "devDependencies", "allowScripts"] as const;

/** Sections of a package.json that are no objects: nothing can be added to them. */
export function misshapenSections(before: PackageJson): readonly string[] {
  return SECTIONS.filter((name) => before[name] !== undefined && !isTable(before[name]));
}

/** The project's package.json: what was there, and what a gateway needs besides. What was there wins. */
export function projectPackage(
  name: string,
  { onceway, wrangler, node }: ProjectVersions,
  before: PackageJson,
  isHono = false,
): PackageJson {
  const devDependencies = { ...(node === null ? {} : { node }), wrangler };
  return {
    name,
    private: true,
    type: "module",
    ...before,
    scripts: { ...SCRIPTS, ...tableOf(before["scripts"]) },
    dependencies: { ...(isHono ? { hono: "^4.6.0" } : {}), onceway, ...tableOf(before["dependencies"]) },
    devDependencies: { ...devDependencies, ...tableOf(before["devDependencies"]) },
    allowScripts: { ...WITH_SCRIPTS, ...tableOf(before["allowScripts"]) },
  };
}

function tableOf(value: unknown): object {
  return isTable(value) ? value : {};
}
