// `onceway openapi SPEC`: what the gateway adds to an existing OpenAPI description of the API behind it, from the configuration, as an
// Overlay. Must never change the file that it reads.

import type { Command } from "commander";
import { checkWranglerConfig } from "./check/file.ts";
import type { Route } from "../kernel/config/resolved.ts";
import { readBytes, writeBytes } from "./arguments.ts";
import { problemLines } from "./check.ts";
import { CommandFailure, EXIT_REFUSED, EXIT_UNUSABLE, messageOf } from "./exit-codes.ts";
import { printableLines } from "./look.ts";
import { additionsTo, type DescriptionAddition } from "./openapi-additions.ts";
import { readWranglerFile, usualFile } from "./wrangler-file.ts";
import { parseDocument, stringify } from "yaml";
import { type DescriptionMembers, membersOf } from "./openapi-operations.ts";

export function defineOpenapi(command: Command): Command {
  return command
    .summary("write an Overlay: the keys, problems and statuses of the protected operations of an OpenAPI description")
    .description(
      "Reads SPEC (OpenAPI 3, YAML or JSON) and the routes of a configuration, and prints an OpenAPI Overlay 1.0.0 with what\n" +
        "clients of the protected operations need to know and SPEC lacks. A tool for Overlays applies it to SPEC.",
    )
    .argument("<SPEC>", "the description of the API behind the gateway")
    .option("--config <FILE>", "the gateway's configuration (default: what Wrangler reads here)")
    .option("--env <NAME>", "the routes of this environment, not those of the top level")
    .option("-o, --output <FILE>", "write there, not to standard output")
    .addHelpText(
      "after",
      "\nExit codes: 0 done, 1 no operation of SPEC is protected, or SPEC or the configuration is invalid,\n2 a file cannot be read or written, or wrong arguments.",
    )
    .action(writeOverlay);
}

interface OpenapiOptions {
  readonly config?: string;
  readonly env?: string;
  readonly output?: string;
}

function writeOverlay(file: string, { config = usualFile(), env, output }: OpenapiOptions): void {
  const description = readDescription(readBytes(file).toString());
  if ("problem" in description) throw new CommandFailure(EXIT_REFUSED, `${file}${description.problem}`);
  const { additions, notes, operationCount } = additionsTo(description.members, routesOf(config, env ?? null));
  for (const note of notes) console.error(printableLines(`${file}: note: ${note}`));
  if (operationCount === 0) {
    throw new CommandFailure(
      EXIT_REFUSED,
      `${file}: no route of ${config} protects any operation: their paths include that of "servers"`,
    );
  }
  const text = overlayText(description, additions);
  if (output === undefined) process.stdout.write(text);
  else writeBytes(output, Buffer.from(text));
}

/** Throws a Failure if the configuration cannot be used. */
function routesOf(file: string, env: string | null): readonly Route[] {
  const read = readWranglerFile(file);
  if (read.kind !== "read")
    throw new CommandFailure(read.kind === "unreadable" ? EXIT_UNUSABLE : EXIT_REFUSED, read.message);
  const environment = checkWranglerConfig(read.table).find(({ name }) => name === env);
  if (environment === undefined) throw new CommandFailure(EXIT_UNUSABLE, `${file}: there is no [env.${env}]`);
  const { config, problems } = environment;
  if (config === null || problems.length > 0)
    throw new CommandFailure(EXIT_REFUSED, problemLines(file, problems, read.language).join("\n"));
  return config.routes;
}

// An OpenAPI description as text, and what is added to it as an Overlay in the same language, YAML or JSON.

export interface ApiDescription {
  readonly members: DescriptionMembers;
  readonly isJson: boolean;
}

/** The description, or what is wrong with the text, with the line where that is known. */
export function readDescription(text: string): ApiDescription | { readonly problem: string } {
  // JSON is YAML.
  const isJson = text.trimStart().startsWith("{");
  const language = isJson ? "JSON" : "YAML";
  const document = parseDocument(text, { prettyErrors: true, merge: true });
  const [error] = document.errors;
  if (error?.code === "MULTIPLE_DOCS") return { problem: ": it holds several documents: keep the one with the paths" };
  if (error !== undefined) {
    const line = error.linePos?.[0];
    const where = line === undefined ? "" : `:${line.line}:${line.col}`;
    return {
      problem: `${where}: not valid ${language}: ${error.message.split("\n")[0]?.replace(/ at line \d+, column \d+:?$/, "")}`,
    };
  }
  let read: unknown;
  try {
    read = document.toJS();
  } catch (failure) {
    return { problem: `: not valid ${language}: ${messageOf(failure)}` };
  }
  const members = membersOf(read);
  const { openapi, swagger, paths } = members;
  if (swagger !== undefined) return { problem: ": Swagger 2.0 is too old: convert it to OpenAPI 3 first" };
  if (!/^3\.\d/.test(String(openapi)))
    return { problem: ': no OpenAPI description: write openapi: "3.1.0" at its top' };
  if (Object.keys(membersOf(paths)).length === 0) return { problem: ": it has no paths" };
  return { members, isJson };
}

/** The additions as an OpenAPI Overlay 1.0.0. */
export function overlayText({ members, isJson }: ApiDescription, additions: readonly DescriptionAddition[]): string {
  const { title, version } = membersOf(members["info"]);
  const overlay = {
    overlay: "1.0.0",
    info: {
      title: `Idempotency keys of ${typeof title === "string" ? title : "the API"}`,
      version: typeof version === "string" ? version : "1",
    },
    actions: additions.map(({ at, update }) => ({ target: `$${at.map(jsonPathOf).join("")}`, update })),
  };
  return isJson
    ? `${JSON.stringify(overlay, null, 2)}\n`
    : stringify(overlay, { lineWidth: 0, aliasDuplicateObjects: false });
}

/** A member as RFC 9535 writes it. */
function jsonPathOf(name: string): string {
  return `['${name.replaceAll(/['\\]/g, String.raw`\$&`)}']`;
}
