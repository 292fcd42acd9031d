// What `onceway init` says when it has written a project or a file: the commands that come next.

import { resolve } from "node:path";

import type { PlanAnswers } from "./init-plan.ts";
import { ENTRY, HONO_ENTRY } from "./init-project.ts";
import { alignColumns } from "./look.ts";

/** `program`: one that was there, and is not the gateway's. */
export function projectSteps(
  folder: string,
  { origin, routes }: PlanAnswers,
  program: string | null,
  hasOwnNode: boolean,
): string {
  const isHere = resolve(folder) === resolve(".");
  const path = routes[0]?.replace(/\/\*$/, "") ?? "/PATH";
  const steps = [
    [
      isHere ? "npm install" : `cd ${folder} && npm install`,
      hasOwnNode
        ? "what package.json names (npm warns EBADENGINE of the machine's Node: the project has its own)"
        : "what package.json names",
    ],
    ["npx onceway check", "what it protects, and whether it can be deployed"],
    ["npx wrangler dev", "the gateway on this machine"],
    [`npx onceway try http://127.0.0.1:8787${path}`, "send a request twice, and see what happens"],
    [
      "npx wrangler secret put ADMIN_TOKEN",
      "token of the console, http://127.0.0.1:8787/_onceway (here: in .dev.vars)",
    ],
    ["npx wrangler deploy", "the gateway on Cloudflare"],
  ];
  const where = isHere ? "The project is in this folder." : `The project is in ${folder}.`;
  return [
    ...(program === null ? [] : [...(origin === null ? honoSteps(program) : programSteps(program)), ""]),
    `${where} Next:`,
    ...alignColumns(steps).map((line) => `  ${line}`),
  ].join("\n");
}

function honoSteps(program: string): readonly string[] {
  const lines = HONO_ENTRY.split("\n").filter((line) => /onceway|app\.use|Origin/.test(line));
  return [
    `${program} was left as it is. Add what is missing of these lines to your application, app.use before all handlers:`,
    ...lines.map((line) => `  ${line}`),
  ];
}

function programSteps(program: string): readonly string[] {
  return [
    `${program} was left as it is. If it has other work to do, write export { KeyShard } from "onceway" there, and see`,
    '"In a Worker of your own" in node_modules/onceway/src/package/README.md. If not, replace all of it by this line:',
    `  ${ENTRY.trimEnd()}`,
  ];
}

export function nextSteps(file: string): string {
  const isUsual = resolve(file) === resolve("wrangler.toml");
  const config = isUsual ? "" : ` --config ${file}`;
  const steps = [
    [`npx onceway check${isUsual ? "" : ` ${file}`}`, "what it protects, and whether it can be deployed"],
    [`npx wrangler dev${config}`, "the gateway on this machine"],
    ["npx onceway try http://127.0.0.1:8787/PATH", "send a request twice, and see what happens"],
    [`npx wrangler deploy${config}`, "the gateway on Cloudflare"],
  ];
  return [`${file} written. Next:`, ...alignColumns(steps).map((line) => `  ${line}`)].join("\n");
}
