// The check `house`: whether each import in src goes the way that src/README.md draws, be it of values or of types. The kernel knows no feature, a
// feature knows no other, and what is in Node stays out of the Worker. Files that break this today are listed with what they know; an entry
// that is needed no more fails too, so that the list only shrinks.

import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { KNOWN } from "./house-known.ts";

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

/** Which features need another: its files are then theirs to import. */
export const NEEDS: Readonly<Record<string, readonly string[]>> = { queues: ["outbox"] };

/** `null`: the import goes the right way. Otherwise what is wrong, as `KNOWN` lists it after the file. */
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
    if (area === "features" && (folder === toFolder || NEEDS[folder]?.includes(toFolder) === true)) return null;
    return toFolder;
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

export interface House {
  /** Imports that go a wrong way and are not listed, and entries of the list that nothing needs. */
  readonly faults: readonly string[];
}

export function judge(imports: readonly Import[], known: Readonly<Record<string, readonly string[]>>): House {
  const found = new Map<string, Set<string>>();
  for (const one of imports) {
    const fault = faultOf(one);
    if (fault !== null) found.set(one.from, (found.get(one.from) ?? new Set()).add(fault));
  }
  const isFound = (file: string, what: string): boolean => found.get(file)?.has(what) === true;
  return {
    faults: [
      ...imports.flatMap((one) => {
        const fault = faultOf(one);
        if (fault === null || known[one.from]?.includes(fault) === true) return [];
        return [`src/${one.from} imports src/${one.to}: it may know nothing of ${fault}`];
      }),
      ...Object.entries(known).flatMap(([file, knows]) =>
        knows
          .filter((what) => !isFound(file, what))
          .map((what) => `src/${file} knows nothing of ${what} any more: take it out of test/house-known.ts`),
      ),
    ],
  };
}

const SRC = fileURLToPath(new URL("../src/", import.meta.url));
const IMPORT = /^(?:import|export)\b[^;"]*?\bfrom "(\.[^"]+)"|\bimport\("(\.[^"]+)"\)|^import "(\.[^"]+)"/gm;

export function allImports(): readonly Import[] {
  return readdirSync(SRC, { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => /\.tsx?$/.test(name) && !name.endsWith(".d.ts"))
    .flatMap((from) => {
      const text = readFileSync(join(SRC, from), "utf8");
      return [...text.matchAll(IMPORT)].map(([, named, dynamic, alone]) => ({
        from,
        to: posix.join(posix.dirname(from), named ?? dynamic ?? alone ?? ""),
      }));
    });
}

if (import.meta.main) {
  const { faults } = judge(allImports(), KNOWN);
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) process.exitCode = 1;
}
