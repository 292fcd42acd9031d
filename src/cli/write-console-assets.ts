// Writes the console's style sheet and script, bundled and minified, into one module of the Worker. `--check` only compares.

import { hash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { buildSync } from "esbuild";

const FOLDER = new URL("../operator/console/", import.meta.url);
const FILE = new URL("assets.ts", FOLDER);

function minified(name: string): string {
  const entry = fileURLToPath(new URL(`browser/${name}`, FOLDER));
  const options = { bundle: true, minify: true, format: "iife", charset: "utf8", write: false } as const;
  const [file] = buildSync({ ...options, entryPoints: [entry] }).outputFiles;
  return (file?.text ?? "").trim();
}

function asset(name: string, extension: string, text: string): string {
  const fileName = `${name}-${hash("sha256", text).slice(0, 12)}.${extension}`;
  return `{\n  name: ${JSON.stringify(fileName)},\n  text: ${JSON.stringify(text)},\n}`;
}

function main(): number {
  const { values } = parseArgs({ options: { check: { type: "boolean" } } });
  const text = `// Made by \`npm run generate\` from browser/. The names change with the content, so browsers may cache them for ever.

export const STYLE = ${asset("style", "css", minified("style.css"))};

export const SCRIPT = ${asset("live", "js", minified("live.ts"))};
`;
  if (values.check !== true) {
    writeFileSync(FILE, text);
    return 0;
  }
  if (readFileSync(FILE, "utf8") === text) return 0;
  console.error("src/operator/console/assets.ts is not up to date: run npm run generate");
  return 1;
}

process.exitCode = main();
