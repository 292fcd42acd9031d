// One word for each idea, in code, documents and file names: words that were replaced do not come back, and what has one name twice, or a
// file name three times, only gets less. Ordinary English is not meant: each pattern finds a word where it is one of ours.

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));

interface Replaced {
  readonly pattern: RegExp;
  readonly write: string;
  /** Where it is one of ours; everywhere, if it does not say. */
  readonly within?: RegExp;
  /** Files that may have it, and why. */
  readonly but?: Readonly<Record<string, string>>;
}

const ON_THE_WIRE = "the name that clients, consumers and dashboards read";

const REPLACED: readonly Replaced[] = [
  { pattern: /\b[tT]old\b/, write: "alert, of an event; and what happens instead: answered, reported, distinguished" },
  { pattern: /\b[dD]riv(?:e|es|en|ing)\b|Driven|DRIVEN/, write: "accepted, and its schedule" },
  { pattern: /\bPRINT(?:_DIGITS)?\b|[,{] print[,: }]|\b(?:asked|event)\.print\b/, write: "fingerprintPrefix" },
  {
    pattern: /\b(?:const|let|readonly|function) told\b|\w+Told\b|\btold[A-Z]|\/told\b/,
    write: "event, alert or reply",
  },
  { pattern: /verify\/question|questionAbout|questionInForm|WaitingQuestion|class Questions\b/, write: "verification" },
  {
    pattern: /[mM]ismatch/,
    write: "key-reused",
    but: {
      "src/cli/": "the option --mismatch of try, and the published policy",
      "src/client/once.ts": ON_THE_WIRE,
      "src/conformance/": "the names of cases, and the published policy",
      "src/features/claims/": ON_THE_WIRE,
      "src/features/problem-shapes/built-in-shapes.ts": "UCP's own code for a wrong digest",
      "src/kernel/record/": "states of claims, the outcome in metrics, and AWS's own name",
      "src/kernel/request/well-known.ts": ON_THE_WIRE,
      "src/kernel/request/README.md": "replays and mismatches, in a sentence",
      "src/kernel/traffic/README.md": ON_THE_WIRE,
      "src/operator/console/traffic.ts": ON_THE_WIRE,
    },
  },
  {
    pattern: /\b[sS]eal(?:s|ed)?\b|[a-z]Seal|\bSEAL/,
    write: "encrypted, of a response, and closed, of an object",
  },
  { pattern: /\b[eE]lders?\b|\b[hH]oming\b|\bnot-here\b|\bHop\b/, write: "previous and next; open, closed, empty" },
  { pattern: /\bat[- ]work\b|[aA]tWork|\b[lL]iving\b|isLiving/, write: "in flight" },
  {
    pattern:
      /\bhasAsked\b|\bisAsked\b|\baskedAt\b|\bAsker\b|kind: "ask", policy|question to the origin, for|^## Asking/,
    write: "verify, verification",
  },
  {
    pattern: /\bhome(?:s|Of)\b|\bhome (?:slot|is taken)|\bPlaceRow\b|interface Place\b/,
    write: "rowLocation, preferredSlot",
  },
  { pattern: /[sS]hard-?Places?\b|LaidPlace|GatewayPlace/, write: "shardAddress, and the directory of shards" },
  { pattern: /kind: "publish"/, write: "policy" },
  { pattern: /doubt/i, write: "verdict ambiguous, state unknown, problem and alert outcome-unknown" },
  { pattern: /NothingHappened|did-not-happen/, write: "refused, and no-effect for callers of the library" },
];

/** Files of the same name that the layout of the house prescribes. */
const SEAMS = new Set(["README.md", "tsconfig.json", "worker.ts", "feature.ts", "node.ts", "openapi.ts", "index.ts"]);

/** At most as much as this of what should not be: lower a number when there is less. */
const KNOWN = { namesInTwoFiles: 0, singleWords: 62, fileNamesThreeTimes: 0 } as const;

const isText = (file: string): boolean => /\.(?:tsx?|md)$/.test(file) && !/assets\.ts$|worker-configuration/.test(file);
const FILES = ["src", "docs", "template"]
  .flatMap((folder) =>
    readdirSync(PROJECT + folder, { recursive: true, encoding: "utf8" }).map((file) => `${folder}/${file}`),
  )
  .concat("README.md")
  .filter(isText);

const TEXTS = new Map(FILES.map((file) => [file, readFileSync(PROJECT + file, "utf8")]));

it.each(REPLACED)("$pattern is not written any more: $write", ({ pattern, within = /^/, but = {} }) => {
  const found = [...TEXTS].flatMap(([file, text]) => {
    if (!within.test(file) || Object.keys(but).some((start) => file.startsWith(start))) return [];
    return [file, ...text.split("\n")].flatMap((line, at) =>
      pattern.test(line) ? [at === 0 ? file : `${file}:${at}: ${line.trim()}`] : [],
    );
  });
  expect(found).toEqual([]);
});

/** Files whose exports have the name of another's, and why. */
const NAMESAKES: ReadonlySet<string> = new Set([
  // What Node gets instead of hono.ts.
  "src/hono-in-node.ts",
  // The text of a declaration, and of a file for users.
  "src/cli/build-package.ts",
  "src/cli/init-project.ts",
]);

it("counts no more exported names in two files, or of a single word, than are known", () => {
  const files = new Map<string, Set<string>>();
  for (const [file, text] of TEXTS) {
    if (!file.startsWith("src/") || file.endsWith(".md") || NAMESAKES.has(file)) continue;
    const exported = /^export (?:declare |abstract |async )*(?:const|let|function\*?|class|interface|type) (\w+)/gm;
    for (const [, name = ""] of text.matchAll(exported)) files.set(name, (files.get(name) ?? new Set()).add(file));
  }
  const names = [...files.keys()];
  const inTwo = names.filter((name) => (files.get(name)?.size ?? 0) > 1);
  expect(inTwo.toSorted()).toHaveLength(KNOWN.namesInTwoFiles);
  expect(names.filter((name) => /^[A-Z]?[a-z0-9]+$/.test(name)).length).toBeLessThanOrEqual(KNOWN.singleWords);
});

it("counts no more file names that stand three times in src than are known", () => {
  const names = FILES.filter((file) => file.startsWith("src/")).map((file) => file.slice(file.lastIndexOf("/") + 1));
  const thrice = [...Map.groupBy(names, (name) => name)].filter(([name, all]) => all.length > 2 && !SEAMS.has(name));
  expect(thrice.length).toBeLessThanOrEqual(KNOWN.fileNamesThreeTimes);
});
