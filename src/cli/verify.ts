// `onceway verify PATH`: asks the API about one request as the gateway would after it has lost its answer, and says what the answer means. It
// sends a GET alone, with the request and the settings of this folder; nothing is changed, and no gateway is asked.

import type { Command } from "commander";

import type { Config, Route } from "../kernel/config/resolved.ts";
import { formatDuration } from "../kernel/config/units.ts";
import { findingText } from "../kernel/record/describe-finding.ts";
import {
  type DescribedRequest,
  judgeTried,
  routeOfRequest,
  type TriedFinding,
  triedVerification,
} from "../kernel/verify/try-verification.ts";
import { unreachedTarget } from "../conformance/unreachable.ts";
import { collectValues, readData, readHeaders, readTarget } from "./arguments.ts";
import { checkWranglerConfig } from "./check/file.ts";
import { CommandFailure, EXIT_REFUSED, EXIT_UNUSABLE, OK } from "./exit-codes.ts";
import { jsonLine, printableText } from "./look.ts";
import { headerOf, type HttpAnswer, sendHttp } from "./send.ts";
import { readWranglerFile, usualFile } from "./wrangler-file.ts";

export function defineVerify(command: Command): Command {
  return command
    .summary("ask the API what became of a request, as the gateway would after it has lost its answer")
    .description(
      "Asks the API with one GET, as `verify` says for PATH, and says what the answer means. Try it with an\n" +
        "operation that took effect and with one that did not, before the gateway relies on it.",
    )
    .argument("<PATH>", "path and query of the request, as its client sends it")
    .requiredOption("--key <KEY>", "its idempotency key")
    .option("-X, --method <METHOD>", "", "POST")
    .option("-d, --data <TEXT>", "its body, or @FILE; application/json, unless a header says otherwise")
    .option(
      "-H, --header <HEADER>",
      "'name: value', or @FILE with one on each line; may be repeated",
      collectValues,
      [],
    )
    .option("--config <FILE>", "the gateway's settings (default: the wrangler file in this folder)")
    .option("--env <NAME>", "the environment whose settings count")
    .option("--origin <URL>", "where the API is, instead of the route's origin")
    .option("--json", "print one JSON object: {route, asked, status, finding, saw, settleMs, response}")
    .addHelpText(
      "after",
      "\nExit codes: 0 the API says whether it took effect, 1 it does not say so, or cannot be asked about this request,\n" +
        "2 wrong arguments, no usable settings, or no answer.",
    )
    .action(verify);
}

interface VerifyOptions {
  readonly key: string;
  readonly method: string;
  readonly data?: string;
  readonly header: readonly string[];
  readonly config?: string;
  readonly env?: string;
  readonly origin?: string;
  readonly json?: boolean;
}

async function verify(path: string, options: VerifyOptions): Promise<void> {
  const file = options.config ?? usualFile();
  const described = describedRequest(path, options);
  const found = routeOfRequest(configIn(file, options.env ?? null), described);
  if (found === null)
    throw new CommandFailure(EXIT_UNUSABLE, `${file}: no route protects ${options.method} ${described.url.pathname}`);
  const route = withOrigin(found, options.origin);
  const verification = await triedVerification(route, described);
  if (verification === null) return reportHeld(route, options.json === true);
  const answer = await ask(verification);
  const { status, body } = answer;
  const tried = judgeTried(verification, {
    status,
    header: (name) => headerOf(answer, name),
    body: new Uint8Array(body),
  });
  report({ route, verification, answer, ...tried }, options.json === true);
}

function describedRequest(path: string, { key, method, data, header }: VerifyOptions): DescribedRequest {
  if (!path.startsWith("/")) throw new CommandFailure(EXIT_UNUSABLE, `${path}: write a path, "/v1/payments"`);
  const headers = readHeaders(header);
  const isTyped = headers.some(([name]) => name.toLowerCase() === "content-type");
  const type = data === undefined || isTyped ? [] : [["Content-Type", "application/json"] as const];
  const body = data === undefined ? new Uint8Array() : new Uint8Array(readData(data));
  return { method, url: new URL(path, "https://gateway.invalid"), key, headers: [...headers, ...type], body };
}

function configIn(file: string, env: string | null): Config {
  const read = readWranglerFile(file);
  if (read.kind !== "read")
    throw new CommandFailure(EXIT_UNUSABLE, `${file} cannot be read: npx onceway check says why`);
  const config = checkWranglerConfig(read.table).find(({ name }) => name === env)?.config ?? null;
  if (config === null)
    throw new CommandFailure(EXIT_UNUSABLE, `${file} has no usable settings: npx onceway check says why`);
  return config;
}

function withOrigin(route: Route, origin: string | undefined): Route {
  if (route.verify === null)
    throw new CommandFailure(EXIT_UNUSABLE, `The route ${route.path} does not ask the API: it has no verify`);
  if (origin !== undefined)
    return { ...route, origin: { kind: "url", url: readTarget(origin).href.replace(/\/$/, "") } };
  if (route.origin.kind === "url") return route;
  throw new CommandFailure(
    EXIT_UNUSABLE,
    `The origin of ${route.path} is no URL that this machine can ask: write --origin URL`,
  );
}

type SentVerification = NonNullable<Awaited<ReturnType<typeof triedVerification>>>;

async function ask({ url, headers, timeoutMs }: SentVerification): Promise<HttpAnswer> {
  try {
    return await sendHttp({ method: "GET", url: new URL(url), headers, body: null }, timeoutMs);
  } catch (error) {
    throw new CommandFailure(EXIT_UNUSABLE, `${new URL(url).origin}: no answer (${unreachedTarget(error).reason})`);
  }
}

interface VerifiedRequest extends TriedFinding {
  readonly route: Route;
  readonly verification: SentVerification;
  readonly answer: HttpAnswer;
}

const CANNOT =
  "The API cannot be asked about this request: a value that verify names is not there, or not safe in its place. A person decides.";

function reportHeld({ path }: Route, isJson: boolean): void {
  console.log(isJson ? jsonLine({ route: path, asked: null }) : CANNOT);
  process.exitCode = EXIT_REFUSED;
}

function report({ route, verification, answer, finding, saw, response }: VerifiedRequest, isJson: boolean): void {
  const { status, statusText, durationMs } = answer;
  const settleMs = verification.state?.settleMs ?? 0;
  if (isJson)
    console.log(jsonLine({ route: route.path, asked: verification.url, status, finding, saw, settleMs, response }));
  else {
    console.log(
      [
        `GET ${printableText(verification.url)} (route ${route.path})`,
        `  ${status} ${printableText(statusText)}, ${Math.round(durationMs)} ms`,
        printableText(sentence({ finding, saw, response })),
        ...consequence(route, finding, settleMs, response),
      ].join("\n"),
    );
  }
  process.exitCode = finding === "happened" || finding === "not-happened" ? OK : EXIT_REFUSED;
}

function sentence({ finding, saw }: TriedFinding): string {
  const answer = finding === "happened" ? "done" : finding === "not-happened" ? "absent" : finding;
  const text = findingText({ answer, saw });
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function consequence(
  { rules }: Route,
  finding: TriedFinding["finding"],
  settleMs: number,
  response: TriedFinding["response"],
): readonly string[] {
  if (finding === "not-happened") {
    const from = settleMs === 0 ? "the end" : `${formatDuration(settleMs)} after the end`;
    return [
      `The next request with the key runs, if the API was asked at ${from} of the lock (${formatDuration(rules.policy.lockMs)}), or later.`,
    ];
  }
  if (response === null) return ["The outcome stays unknown, and the API is asked again."];
  const { status, bytes, location } = response;
  if (bytes === null) return ["Retries get 409 response-not-kept."];
  return [
    `Retries get ${status} with ${bytes} bytes${location === null ? "" : ` and Location: ${printableText(location)}`}.`,
  ];
}
