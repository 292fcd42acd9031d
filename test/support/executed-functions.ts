// Which code of src a request executes, by instrumenting the bundle that wrangler makes: each function notes that it runs, and the bundle's
// source map leads from it to the declaration in src. The inspector of workerd has no coverage of V8.

import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { SourceMap } from "node:module";
import { join } from "node:path";
import { parseAst } from "vitest/node";
import { bundleWorker } from "../../src/serve/bundle.ts";
import { projectCompatibility, projectDir } from "./wrangler.ts";

/** A declaration at the top level of a file of src. */
export interface Declaration {
  readonly file: string;
  readonly name: string;
}

export interface InstrumentedBundle {
  readonly folder: string;
  /** What is behind the numbers that `/executed` answers with: the declarations, in the order of their first execution. */
  readonly declarationsOf: (functions: readonly number[]) => Promise<readonly Declaration[]>;
}

/** Writes the bundle of an entry into a new folder. */
export async function instrumentedBundle(main: string, folder: string): Promise<InstrumentedBundle> {
  const bundle = await bundleWorker(main, projectCompatibility());
  const source = await readFile(join(bundle, "index.js"), "utf8");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "index.js"), instrumented(source));
  // It is called like the entry.
  const mapName = (await readdir(bundle)).find((name) => name.endsWith(".map"));
  if (mapName === undefined) throw new Error("the bundle has no source map");
  const map = new SourceMap(JSON.parse(await readFile(join(bundle, mapName), "utf8")));
  const lineStarts = [0, ...[...source.matchAll(/\n/g)].map(({ index }) => index + 1)];
  return {
    folder,
    declarationsOf: async (functions) => {
      const executed = new Map<string, Declaration>();
      for (const at of functions) {
        const line = lineStarts.findLastIndex((start) => start <= at);
        const entry = map.findEntry(line, at - (lineStarts[line] ?? 0));
        // Of the bundler itself.
        if (!("originalSource" in entry)) continue;
        const [, file] = /(?:^|\/)src\/(.*)$/.exec(entry.originalSource) ?? [];
        if (file === undefined || entry.originalSource.includes("node_modules")) continue;
        // oxlint-disable-next-line no-await-in-loop -- a few files
        const name = declarationAt(await readSource(file), entry.originalLine);
        executed.set(`${file} ${name}`, { file, name });
      }
      return [...executed.values()];
    },
  };
}

const sources = new Map<string, Promise<string>>();

export function readSource(file: string): Promise<string> {
  const source = sources.get(file) ?? readFile(join(projectDir, "src", file), "utf8");
  sources.set(file, source);
  return source;
}

const DECLARATION = /^(?:export )?(?:default )?(?:abstract )?(?:async )?(?:function\*?|class|const|let) (\w+)/;

/** The declaration at the top level in which a line is. The sources are formatted: no other line begins like one. */
function declarationAt(source: string, line: number): string {
  for (const text of source
    .split("\n")
    .slice(0, line + 1)
    .toReversed()) {
    const [, name] = DECLARATION.exec(text) ?? [];
    if (name !== undefined) return name;
  }
  throw new Error(`line ${line} is in no declaration`);
}

/** Each function is known by its offset. */
function instrumented(source: string): string {
  const insertions: { readonly at: number; readonly text: string }[] = [];
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) {
      for (const one of node) visit(one);
      return;
    }
    if (!isNode(node)) return;
    if (/Function/.test(node.type) && isNode(node["body"])) {
      const note = `executedFunctions.add(${node.start})`;
      const { type, start, end } = node["body"];
      if (type === "BlockStatement") insertions.push({ at: start + 1, text: `${note};` });
      else insertions.push({ at: start, text: `(${note}, ` }, { at: end, text: ")" });
    }
    for (const child of Object.values(node)) visit(child);
  };
  visit(parseAst(source));
  let text = "globalThis.executedFunctions = new Set();\n";
  let from = 0;
  for (const { at, text: inserted } of insertions.toSorted((one, other) => one.at - other.at)) {
    text += source.slice(from, at) + inserted;
    from = at;
  }
  return text + source.slice(from);
}

interface Node extends Readonly<Record<string, unknown>> {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}
