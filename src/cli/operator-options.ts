// The options of every operator command: which gateway, and the token. The token is never an argument, because the list of
// processes shows arguments.

import { existsSync } from "node:fs";
import { parseEnv } from "node:util";

import { type Command, InvalidArgumentError, Option } from "commander";

import { isLoopback } from "../kernel/config/values.ts";
import { notAskedText } from "../operator/list-texts.ts";
import type { NotAskedView } from "../operator/schema-members.ts";
import { operatorClient, type OperatorClient } from "./operator-client.ts";
import { EXIT_CODES, CommandFailure, EXIT_UNUSABLE } from "./exit-codes.ts";
import { printableText } from "./look.ts";
import { readBytes } from "./arguments.ts";

export interface OperatorOptions {
  readonly url?: URL;
  readonly tokenFile?: string;
  readonly json?: boolean;
}

export const TOKEN_FILE = [
  "--token-file <FILE>",
  "holds the operator's token (default: the environment's ONCEWAY_TOKEN; for a gateway on this machine, the ADMIN_TOKEN in .dev.vars)",
] as const;

/** What `wrangler dev` reads secrets from. Never sent to another machine. */
const LOCAL_SECRETS = ".dev.vars";
/** Where `wrangler dev` listens. */
const LOCAL_GATEWAY = "http://127.0.0.1:8787";

/** `url` for commands that ask several gateways. */
export function operatorCommand(command: Command, jsonHelp: string, url = oneGateway()): Command {
  return command
    .addOption(url)
    .option(...TOKEN_FILE)
    .option("--json", jsonHelp)
    .addHelpText("after", `\n${EXIT_CODES}`);
}

export function oneGateway(): Option {
  return new Option("--url <URL>", "the gateway, https://api.example.com").env("ONCEWAY_URL").argParser(readGateway);
}

/** Throws a Failure that says what is missing. */
export function connectOperator({ url: given, tokenFile }: Pick<OperatorOptions, "url" | "tokenFile">): OperatorClient {
  const url = given ?? localGateway(LOCAL_SECRETS);
  if (url === null)
    throw new CommandFailure(
      EXIT_UNUSABLE,
      "Missing --url: write --url https://api.example.com, or set ONCEWAY_URL. On this machine: --url http://127.0.0.1:8787",
    );
  const where = tokenFile === undefined ? "ONCEWAY_TOKEN" : tokenFile;
  const token =
    tokenFile === undefined
      ? tokenFor(url, process.env["ONCEWAY_TOKEN"], LOCAL_SECRETS)
      : readBytes(tokenFile).toString();
  if (token === undefined || token.trim() === "") {
    throw new CommandFailure(
      EXIT_UNUSABLE,
      `${where} holds no token: set ONCEWAY_TOKEN to the gateway's ADMIN_TOKEN or READ_TOKEN, or write --token-file FILE.`,
    );
  }
  if (!/^[\u0021-\u007e]+$/.test(token.trim())) {
    throw new CommandFailure(EXIT_UNUSABLE, `The token in ${where} must be one line of visible ASCII characters.`);
  }
  if (url.protocol === "http:" && !isLoopback(url.hostname)) {
    process.stderr.write(`Warning: the token is sent to ${url.host} unencrypted. Use https.\n`);
  }
  return operatorClient(url, token.trim());
}

/** The gateway of the project in this folder, as `wrangler dev` runs it. Its URL is reported, because nobody wrote it. */
export function localGateway(secrets: string): URL | null {
  if (!existsSync(secrets)) return null;
  process.stderr.write(`Without --url: the gateway of this folder, at ${LOCAL_GATEWAY}\n`);
  return new URL(LOCAL_GATEWAY);
}

/** A gateway on this machine that has no other token has the one of the project in this folder (`init` made it). */
export function tokenFor({ hostname }: URL, given: string | undefined, secrets: string): string | undefined {
  if ((given ?? "") !== "" || !isLoopback(hostname) || !existsSync(secrets)) return given;
  return parseEnv(readBytes(secrets).toString())["ADMIN_TOKEN"];
}

export function readGateway(value: string): URL {
  const url = URL.parse(value);
  if (url === null || !/^https?:$/.test(url.protocol)) throw new InvalidArgumentError("Write https://api.example.com.");
  if (url.search !== "" || url.hash !== "" || url.username !== "" || url.password !== "") {
    throw new InvalidArgumentError("It may have a path, but no query, fragment or credentials.");
  }
  return url;
}

/** How many to list in all. */
export function readLimit(value: string): number {
  if (!/^[1-9]\d{0,8}$/.test(value)) throw new InvalidArgumentError("Write a whole number of 1 or more.");
  return Number(value);
}

/** Which shards an answer has not asked, in a sentence. */
export function notAskedLines(notAsked: NotAskedView): readonly string[] {
  const text = notAskedText(notAsked, Date.now());
  return text === null ? [] : [text];
}

/** What a list could not say. */
interface Left {
  readonly unreachable: readonly string[];
  readonly notAsked: NotAskedView;
  readonly notListed: readonly string[];
  readonly cursor: string | null;
}

export function reportLeft({ unreachable, notAsked, notListed, cursor }: Left, limit: number): void {
  const lines = [
    ...notAskedLines(notAsked),
    ...(unreachable.length === 0 ? [] : [`Did not answer: ${unreachable.join(", ")}. Try again later.`]),
    ...(notListed.length === 0
      ? []
      : [`Not listed, because every key has an object of its own: ${notListed.join(", ")}.`]),
    ...(cursor === null ? [] : [`There may be more: --limit ${limit * 10}.`]),
  ];
  for (const line of lines) process.stderr.write(`${printableText(line)}\n`);
}
