// `onceway try URL`: the fastest way to see whether a deployed gateway works. Sends a real request twice with one key, and
// warns first: without a gateway the origin acts twice. `--queue` tries a queue's consumer instead (try-queue.ts).

import { randomUUID } from "node:crypto";
import { type Command, Option } from "commander";
import { checkWranglerConfig } from "./check/file.ts";
import { originsOf } from "./check/reach.ts";
import type { Config } from "../kernel/config/resolved.ts";
import { parseDuration } from "../kernel/config/units.ts";
import { isLoopback, parseMethod } from "../kernel/config/values.ts";
import { unreachedTarget } from "../conformance/unreachable.ts";
import { askYes, openDialogue } from "./ask.ts";
import { collectValues, parseJsonText, readData, readHeader, readHeaders, readTarget } from "./arguments.ts";
import { jsonLine, lookOf } from "./look.ts";
import { CommandFailure, OK, EXIT_REFUSED, EXIT_UNUSABLE } from "./exit-codes.ts";
import { oneGateway, type OperatorOptions, TOKEN_FILE } from "./operator-options.ts";
import { type HttpAnswer, type OutgoingRequest, sendHttp, type HeaderLine } from "./send.ts";
import { fetchPolicy, type PublishedPolicy, readGatewayMarks } from "./gateway-marks.ts";
import { trialJson, trialText } from "./try-report.ts";
import { diagnoseGateway } from "./diagnose.ts";
import { reachOrigin } from "./reach-origin.ts";
import { credentialFaults } from "./check/of-features.ts";
import { readWranglerFile, usualFile } from "./wrangler-file.ts";

const POLICY_MS = 5_000;

/** What `--queue` does. */
export type TryQueueCommand = (
  options: OperatorOptions & { readonly queue: string; readonly data?: string; readonly yes?: boolean },
  timeoutMs: number,
) => Promise<void>;

/** `tryQueue`: the gateway consumes queues. */
export function defineTry(command: Command, tryQueue?: TryQueueCommand): Command {
  return command
    .summary("send a request, or a queue's message, twice, and say what happened")
    .description(
      "Sends a real request to URL, then the same again with the same key, and says whether the second one was answered\n" +
        "from the record. Behind a gateway the operation takes effect once; without one, twice.\n" +
        "With --queue, the gateway gives its consumer of that queue one message twice; --url names the gateway.",
    )
    .argument("[URL]", "of an operation behind the gateway; none with --queue")
    .addOption(queueOption())
    .addOption(oneGateway())
    .option(...TOKEN_FILE)
    .option("-X, --method <METHOD>", "", "POST")
    .option(
      "-d, --data <TEXT>",
      "the body, or @FILE; JSON is sent as application/json, anything else as text/plain; with --queue, the message",
    )
    .option(
      "-H, --header <HEADER>",
      "'name: value', or @FILE with one on each line; may be repeated",
      collectValues,
      [],
    )
    .option("--key <KEY>", "the idempotency key (default: a new one)")
    .option("--key-header <NAME>", "the header that carries it", "Idempotency-Key")
    .option("--mismatch", "after a correct replay, also send the same key with another body, which must be refused")
    .option("--timeout <DURATION>", "how long to wait for each answer", "60s")
    .option("-y, --yes", "do not ask before sending")
    .option("--json", "print one JSON object: {diagnosis, works, happened, advice, answers, ...}")
    .addHelpText(
      "after",
      "\nExit codes: 0 the request is protected, 1 it is not, or that is not proved, 2 wrong arguments, not confirmed,\n" +
        "or no answer.",
    )
    .action((target: string | undefined, options: TryOptions) => tryIt(target, options, tryQueue));
}

/** A message has no headers, and its key is in its body. */
function queueOption(): Option {
  return new Option("--queue <NAME>", "try the gateway's consumer of this queue with the message --data").conflicts([
    "method",
    "header",
    "key",
    "keyHeader",
    "mismatch",
  ]);
}

interface TryOptions extends Omit<TryArguments, "key">, OperatorOptions {
  readonly queue?: string;

  readonly key?: string;
  readonly mismatch?: boolean;
  readonly timeout: string;
  readonly yes?: boolean;
}

async function tryIt(
  target: string | undefined,
  { queue, ...options }: TryOptions,
  tryQueue: TryQueueCommand | undefined,
): Promise<void> {
  const timeout = parseDuration(options.timeout);
  if (!timeout.ok) throw new CommandFailure(EXIT_UNUSABLE, `--timeout ${timeout.message}`);
  if (queue !== undefined) {
    if (target !== undefined)
      throw new CommandFailure(EXIT_UNUSABLE, `With --queue, write --url ${target}: it names the gateway.`);
    if (tryQueue === undefined) throw new CommandFailure(EXIT_UNUSABLE, "This gateway consumes no queues.");
    return tryQueue({ ...options, queue }, timeout.value);
  }
  if (target === undefined) {
    throw new CommandFailure(
      EXIT_UNUSABLE,
      "Missing URL: write that of an operation behind the gateway, or --queue NAME.",
    );
  }
  return tryUrl(target, options, timeout.value);
}

async function tryUrl(target: string, options: Omit<TryOptions, "queue">, timeoutMs: number): Promise<void> {
  const key = options.key ?? randomUUID();
  const request = buildRequest(target, { ...options, key });
  const policy = await fetchPolicy(request.url, POLICY_MS);
  const own = ownConfiguration(policy);
  await refuseDeadOrigin(request.url, own);
  await confirmSending(request, policy !== null, options.yes === true);

  const { method, url } = request;
  const first = await send("first", request, timeoutMs);
  // A refusal by the gateway itself is conclusive.
  const second = readGatewayMarks(first).problem === null ? await send("second", request, timeoutMs) : null;
  const evidence = { method, path: url.pathname, first, second, changed: null, policy };
  let diagnosis = diagnoseGateway(evidence);
  let changed: HttpAnswer | null = null;
  // Only when the gateway provably replays: otherwise this would be one more effect at the origin.
  if (
    options.mismatch === true &&
    diagnosis.code === "protected" &&
    second !== null &&
    readGatewayMarks(second).replayed
  ) {
    changed = await send("changed", withOtherBody(request), timeoutMs);
    diagnosis = diagnoseGateway({ ...evidence, changed });
  }

  const credential = readGatewayMarks(first).problem?.code === "credential-invalid";
  if (credential && own !== null) {
    const { config } = own;
    const faults = credentialFaults(request.headers, config, Date.now());
    diagnosis = { ...diagnosis, happened: [...diagnosis.happened, ...faults] };
  }

  const answers = [first, second, changed].filter((answer) => answer !== null);
  const trial = { method, url: url.href, key, answers, diagnosis };
  if (options.json === true) console.log(jsonLine(trialJson(trial)));
  else console.log(trialText(trial, lookOf(process.stdout)));
  process.exitCode = diagnosis.works ? OK : EXIT_REFUSED;
}

/** The file in this folder, if it protects what the gateway protects: that gateway runs with it, or with an older version of it. */
function ownConfiguration(policy: PublishedPolicy | null): { readonly file: string; readonly config: Config } | null {
  const file = usualFile();
  const read = policy === null ? null : readWranglerFile(file);
  const [top] = read?.kind === "read" ? checkWranglerConfig(read.table) : [];
  if (policy === null || top === undefined || top.config === null) return null;
  return pathsOf(policy) === pathsOf(top.config) ? { file, config: top.config } : null;
}

/** A gateway on this machine runs with the file in this folder: its API is looked for before anything is sent. */
async function refuseDeadOrigin({ hostname }: URL, own: ReturnType<typeof ownConfiguration>): Promise<void> {
  if (own === null || !isLoopback(hostname)) return;
  for (const { url } of originsOf(own.config)) {
    if ((await reachOrigin(url)) === null) continue;
    const advice = `Is the name right, and does it listen? Try: curl -i ${url.href}`;
    throw new CommandFailure(
      EXIT_UNUSABLE,
      `No answer from ${url.origin}, which ${own.file} names. ${advice}\nNothing was sent.`,
    );
  }
}

function pathsOf({ routes }: { readonly routes: readonly { readonly path: string }[] }): string {
  return routes.map(({ path }) => path).join(" ");
}

async function confirmSending({ method, url }: OutgoingRequest, hasPolicy: boolean, isSure: boolean): Promise<void> {
  if (isSure) return;
  const where = hasPolicy
    ? `A gateway answers at ${url.host}. Where it protects this path, the operation takes effect once; otherwise twice.`
    : `No gateway shows itself at ${url.host} (no policy): without one, the operation takes effect TWICE.`;
  const warning = `This sends ${method} ${url.href} twice, for real. ${where}`;
  const dialogue = openDialogue();
  if (dialogue === null)
    throw new CommandFailure(EXIT_UNUSABLE, `${warning}\nNothing was sent: add --yes if that is what you want.`);
  if (!(await askYes(dialogue, `${warning} Send it?`))) throw new CommandFailure(EXIT_UNUSABLE, "Nothing was sent.");
}

async function send(which: string, request: OutgoingRequest, timeoutMs: number): Promise<HttpAnswer> {
  try {
    return await sendHttp(request, timeoutMs);
  } catch (error) {
    const { reason, isUnsent } = unreachedTarget(error);
    const advice = isUnsent ? "It was not sent." : "It may have reached the origin and taken effect.";
    throw new CommandFailure(
      EXIT_UNUSABLE,
      `${request.url.origin}: no full response to the ${which} request (${reason}). ${advice}`,
    );
  }
}

// Builds the request of `onceway try` from its arguments and refuses invalid ones. Sends nothing.

export interface TryArguments {
  readonly method: string;
  readonly data?: string;
  readonly header: readonly string[];
  readonly key: string;
  readonly keyHeader: string;
}

/** Throws a Failure that says what to write instead. */
export function buildRequest(target: string, { method, data, header, key, keyHeader }: TryArguments): OutgoingRequest {
  const url = readTarget(target);
  const parsedMethod = parseMethod(method.toUpperCase());
  if (!parsedMethod.ok)
    throw new CommandFailure(EXIT_UNUSABLE, `--method ${method} needs no protection: write POST, PATCH, PUT or DELETE`);
  const headers = [...readHeaders(header)];
  const isKeyHeader = ([name]: HeaderLine): boolean => name.toLowerCase() === keyHeader.toLowerCase();
  if (headers.some(isKeyHeader)) throw new CommandFailure(EXIT_UNUSABLE, "--header names the key: give it with --key");
  headers.push(readHeader(`${keyHeader}: ${key}`));
  const body = data === undefined ? null : readData(data);
  if (body !== null && !headers.some(([name]) => name.toLowerCase() === "content-type")) {
    const isJson = parseJsonText(body.toString()) !== undefined;
    headers.push(["Content-Type", isJson ? "application/json" : "text/plain"]);
  }
  return { method: parsedMethod.value, url, headers, body };
}

/** The same request with another body: another JSON value, or other bytes. */
export function withOtherBody(request: OutgoingRequest): OutgoingRequest {
  const text = request.body?.toString() ?? "";
  const value = parseJsonText(text);
  const body = value === undefined ? `${text} onceway-try` : JSON.stringify({ "onceway-try": value });
  return { ...request, body: Buffer.from(body) };
}
