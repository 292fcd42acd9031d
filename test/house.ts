// The check `house`: whether each import in src goes the way that src/README.md draws, be it of values or of types. The kernel knows no feature, a
// feature knows no other but one that it needs, of which it imports the public files alone, and what is in Node stays out of the Worker. A list of
// features has few importers: whoever else wants to know the features gets them through a seam. It also counts how many files name each feature,
// and the numbers of src/README.md.

import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { wrongNumbersOfPage } from "./new-things.ts";

/** One import: paths below src. */
export interface Import {
  readonly from: string;
  readonly to: string;
}

/** Folders of the kernel in layers, and what each may import besides itself and the folders that belong to no layer. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  record: [],
  config: ["record"],
  traffic: ["record"],
  request: ["record", "config", "traffic"],
  store: ["record"],
  body: ["record", "request", "store", "object"],
  object: ["record", "config", "traffic", "request", "store", "body"],
};

/** Folders of src that are no part of the Worker. */
const IN_NODE: ReadonlySet<string> = new Set(["cli", "serve", "demo", "conformance"]);

/** The files that list the features of Node, and the seam that they go through: of `src/cli` alone. */
const NODE_LIST = "features/node.ts";
const NODE_SEAM = "kernel/node-feature.ts";

/** The list of features in the Worker, and the seam that they go through, which names the frame for operators by its types. */
const WORKER_LIST = "features/worker.ts";
/** The same for the OpenAPI document, which only the build writes. */
const OPENAPI_LIST = "features/openapi.ts";
const WORKER_SEAM = "kernel/worker-feature.ts";

/** The list of the features' settings, with which whoever starts something reads its configuration. */
const SETTINGS_LIST = "features/settings.ts";

/** The list of features in an object. */
const OBJECT_LIST = "features/object.ts";

/**
 * Which features need another, and which of its files they import: its public ones. Queues send dead letters and their alerts through the outbox,
 * and a parked message that is released is tried as an accepted request is, by the work at the alarm of that feature. The key of a GraphQL
 * request is found in its body by the feature that searches bodies, and a key is made from content where that feature has found none.
 */
export const NEEDS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  "content-keys": { "key-sources": ["settings/feature.ts"] },
  graphql: { "key-sources": [] },
  presets: { "problem-shapes": [], verdicts: [], "json-rpc": [] },
  queues: { outbox: ["dead-letter.ts", "operator/watch-shards.ts"], accepted: [] },
};

/** How many files import a list of features at most. */
const MOST_IMPORTERS = 4;

/** `null`: the import goes the right way. Otherwise the folder or the feature of which it may know nothing. */
export function faultOf({ from, to }: Import): string | null {
  const [area = "", folder = "", inside = ""] = from.split("/");
  const [toArea = "", toFolder = ""] = to.split("/");
  const isNode = IN_NODE.has(area) || (area === "features" && inside === "cli") || from === NODE_LIST;
  if ((IN_NODE.has(toArea) || to.split("/")[2] === "cli" || to === NODE_SEAM) && !isNode) return toArea;
  if (to === NODE_LIST) return area === "cli" ? null : toFolder;
  if (from === NODE_LIST && toArea === "features") return to.split("/")[2] === "cli" ? null : toFolder;
  if (to === SETTINGS_LIST) return isNode || area === "worker" ? null : toFolder;
  if (from === SETTINGS_LIST && toArea === "features") return to.split("/")[2] === "settings" ? null : toFolder;
  if (to === OBJECT_LIST) return from === "worker/key-shard.ts" ? null : toFolder;
  if (from === OBJECT_LIST && toArea === "features") return to.split("/")[2] === "object" ? null : toFolder;
  if (to === WORKER_LIST) return from === "worker/onceway.ts" ? null : toFolder;
  if (to === OPENAPI_LIST) return from === "cli/write-openapi.ts" ? null : toFolder;
  if (from === OPENAPI_LIST) return toArea === "operator" || to.endsWith("/operator/openapi.ts") ? null : toFolder;
  if (from === WORKER_LIST && toArea === "features") return to.split("/")[2] === "worker.ts" ? null : toFolder;
  if (from === WORKER_SEAM && toArea === "operator") return null;
  if (toArea === "features") {
    if (area === "features" && folder === toFolder) return null;
    const isPublic = area === "features" && NEEDS[folder]?.[toFolder]?.includes(to.split("/").slice(2).join("/"));
    return isPublic === true ? null : toFolder;
  }
  if (area === "client" || area === "conformance") return toArea === area ? null : toArea;
  if (area === "kernel") return toArea === "kernel" ? layerFault(folder, toFolder) : toArea;
  if (area === "features") {
    return toArea === "kernel" || (toArea === "operator" && (inside === "operator" || inside === "cli")) || isNode
      ? null
      : toArea;
  }
  return null;
}

function layerFault(folder: string, other: string): string | null {
  const allowed = LAYERS[folder];
  if (allowed === undefined || folder === other) return null;
  const isLayer = LAYERS[other] !== undefined;
  if (folder === "record") return other;
  return !isLayer || allowed.includes(other) ? null : other;
}

/** What is wrong with these imports, in sentences. */
export function faultsIn(imports: readonly Import[]): readonly string[] {
  const wrong = imports.flatMap((one) => {
    const fault = faultOf(one);
    return fault === null ? [] : [`src/${one.from} imports src/${one.to}: it may know nothing of ${fault}`];
  });
  const crowded = [SETTINGS_LIST, OBJECT_LIST, WORKER_LIST, OPENAPI_LIST, NODE_LIST].flatMap((list) => {
    const importers = new Set(imports.filter(({ to }) => to === list).map(({ from }) => from)).size;
    return importers <= MOST_IMPORTERS
      ? []
      : [`src/${list} is imported by ${importers} files, at most ${MOST_IMPORTERS} may`];
  });
  return [...wrong, ...crowded];
}

const SRC = fileURLToPath(new URL("../src/", import.meta.url));
const IMPORT = /^(?:import|export)\b[^;"]*?\bfrom "(\.[^"]+)"|\bimport\("(\.[^"]+)"\)|^import "(\.[^"]+)"/gm;

function sources(): readonly { readonly file: string; readonly text: string }[] {
  return readdirSync(SRC, { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => /\.tsx?$/.test(name) && !name.endsWith(".d.ts"))
    .map((file) => ({ file, text: readFileSync(join(SRC, file), "utf8") }));
}

export function allImports(): readonly Import[] {
  return sources().flatMap(({ file, text }) =>
    [...text.matchAll(IMPORT)].map(([, named, dynamic, alone]) => ({
      from: file,
      to: posix.join(posix.dirname(file), named ?? dynamic ?? alone ?? ""),
    })),
  );
}

/** A file of src outside of the features' own folders and their lists, and a feature that it names in an import or in a mark. */
export interface Naming {
  readonly file: string;
  readonly feature: string;
}

/** A mark of a line, or of where several begin or end (test/remove-feature.ts). */
export const MARK = /(?:\/\/|#|\{\/\*) feature: ([\w-]+(?:, [\w-]+)*)( begins| ends)?(?: \*\/\})?$/m;

/** How many files may name a feature. */
const MOST_NAMING = 8;

/** Which files do, and why. */
const NAMING: Readonly<Record<string, string>> = {
  "kernel/store/tables.ts": "says of each table what would be lost with its object's layout",
  "features/claims/settings/consumer-entries.ts":
    "lists the settings that a group inherits, previous_shards among them",
  "features/queues/settings/queue-entries.ts": "lists the settings that a queue inherits, previous_shards among them",
  "features/content-keys/settings/feature.ts": "adds an entry to `key_from`",
  "features/content-keys/cli/node.ts": "the text of `key_from`, with that entry",
  "features/queues/consume.ts": "sends the dead letters of a parked message through the outbox",
  "features/queues/worker.ts": "sends the alerts of parked messages through the outbox",
};

/** What is wrong with these, in sentences. */
export function namingFaults(namings: readonly Naming[]): readonly string[] {
  const unknown = namings.filter(({ file }) => NAMING[file] === undefined);
  const idle = Object.keys(NAMING).filter((file) => !namings.some((one) => one.file === file));
  return [
    ...unknown.map(({ file, feature }) => `src/${file} names ${feature}: test/house.ts has no reason for it`),
    ...idle.map((file) => `src/${file} names no feature: test/house.ts needs no reason for it`),
    ...[...countedBy(namings)].flatMap(([feature, count]) =>
      count <= MOST_NAMING ? [] : [`${feature} is named by ${count} files, at most ${MOST_NAMING} may`],
    ),
  ];
}

function countedBy(namings: readonly Naming[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { feature } of namings) counts.set(feature, (counts.get(feature) ?? 0) + 1);
  return counts;
}

const LISTS = new Set([SETTINGS_LIST, OBJECT_LIST, WORKER_LIST, OPENAPI_LIST, NODE_LIST]);

export function allNamings(imports: readonly Import[]): readonly Naming[] {
  const folderOf = (file: string): string | undefined => /^features\/([^/]+)\//.exec(file)?.[1];
  return sources()
    .filter(({ file }) => !LISTS.has(file))
    .flatMap(({ file, text }) => {
      const marked = [...text.matchAll(new RegExp(MARK, "gm"))].flatMap(([, names = ""]) => names.split(", "));
      const imported = imports.filter(({ from }) => from === file).flatMap(({ to }) => folderOf(to) ?? []);
      return [...new Set([...marked, ...imported])]
        .filter((feature) => feature !== folderOf(file))
        .map((feature) => ({ file, feature }));
    });
}

if (import.meta.main) {
  const imports = allImports();
  const namings = allNamings(imports);
  const counts = [...countedBy(namings)].map(([feature, count]) => `${feature} ${count}`);
  console.log(`files outside of their folders that name features: ${counts.join(", ")}`);
  const faults = [...faultsIn(imports), ...namingFaults(namings), ...wrongNumbersOfPage()];
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) process.exitCode = 1;
}
