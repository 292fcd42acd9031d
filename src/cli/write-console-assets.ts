// Writes the console's style sheet and script into one module of the Worker. `--check` only compares. Strips the script's types
// and bundles or minifies nothing, so the script stays readable.

import { hash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { parseArgs } from "node:util";

const FOLDER = new URL("../operator/console/", import.meta.url);
const FILE = new URL("assets.ts", FOLDER);

function script(): string {
  const modules = ["times.ts", "copy.ts", "live.ts"].map((name) =>
    stripTypeScriptTypes(read(`browser/${name}`))
      // Blanks are left where a type was.
      .replaceAll(/ +(?=[),])/g, "")
      .replaceAll(/^import .*\n/gm, "")
      .replaceAll(/^export /gm, ""),
  );
  return compact(modules.join("\n")).join("\n");
}

function style(): string {
  return compact(read("browser/style.css"))
    .join("")
    .replaceAll(/ ?([{,>]) ?/g, "$1")
    .replaceAll(": ", ":")
    .replaceAll(/(?<![\d.])0\./g, ".")
    .replaceAll(";}", "}");
}

/** Without comments and extra blanks. */
function compact(text: string): readonly string[] {
  return text
    .replaceAll(/\/\*[^]*?\*\//g, "")
    .split("\n")
    .map((line) => line.trim().replaceAll(/ {2,}/g, " "))
    .filter((line) => line !== "" && !line.startsWith("//"));
}

function read(name: string): string {
  return readFileSync(new URL(name, FOLDER), "utf8");
}

function asset(name: string, extension: string, text: string): string {
  const fileName = `${name}-${hash("sha256", text).slice(0, 12)}.${extension}`;
  return `{\n  name: ${JSON.stringify(fileName)},\n  text: ${JSON.stringify(text)},\n}`;
}

function main(): number {
  const { values } = parseArgs({ options: { check: { type: "boolean" } } });
  const text = `// Made by \`npm run generate\` from browser/. The names change with the content, so browsers may cache them for ever.

export const STYLE = ${asset("style", "css", style())};

export const SCRIPT = ${asset("live", "js", script())};
`;
  if (values.check !== true) {
    writeFileSync(FILE, text);
    return 0;
  }
  if (read("assets.ts") === text) return 0;
  console.error("src/operator/console/assets.ts is not up to date: run npm run generate");
  return 1;
}

process.exitCode = main();
