// `onceway conformance URL`: runs the language-neutral suite (../conformance/README.md) against any server that takes idempotency
// keys.

import { type Command, Option } from "commander";

import { parseDuration } from "../kernel/config/units.ts";
import { parseMethod } from "../kernel/config/values.ts";
import type { ConformanceCase } from "../conformance/case.ts";
import { PROFILE_NAMES, type ProfileName, selectCases } from "../conformance/catalogue.ts";
import { type TestOrigin, startOrigin } from "../conformance/test-origin.ts";
import { caseJson, type SuiteReport, reportJson, reportJunit } from "../conformance/report.ts";
import { NotTestable, type CaseResult, runSuite, totalsOf } from "../conformance/suite.ts";
import type { TestTarget } from "../conformance/target.ts";
import { collectValues, readData, readHeaders, readTarget, writeBytes } from "./arguments.ts";
import { caseLines, reportHeadText, resultText, totalsText } from "./conformance-text.ts";
import { CommandFailure, messageOf, OK, EXIT_REFUSED, EXIT_UNUSABLE } from "./exit-codes.ts";
import { jsonLine, lookOf } from "./look.ts";

export function defineConformance(command: Command): Command {
  return command
    .summary("test any server that takes idempotency keys, against the draft and the profile")
    .description(
      "Sends real requests to URL and judges what a client can see. In front of a gateway or a middleware, give --origin-port:\n" +
        "the suite listens there, and the server under test must forward to it, so that calls and effects are counted.\n" +
        "Without it, only what an API answers is judged. The operation at URL is then run some hundred times.",
    )
    .argument("[URL]", "of the operation, or of the server with --path")
    .option("--path <PATH>", "the operation's path")
    .option(
      "--other-path <PATH>",
      "another operation that takes the same body (default with --origin-port: PATH/other)",
    )
    .option("-X, --method <METHOD>", "", "POST")
    .option("-b, --body <TEXT>", "a valid body, or @FILE; {token} in it becomes a new value for each case")
    .option("--other-body <TEXT>", "another valid body, or @FILE")
    .option("--content-type <TYPE>", "of the body", "application/json")
    .option("-H, --header <HEADER>", "'name: value' of each request, or @FILE; may be repeated", collectValues, [])
    .option("--caller <HEADER>", "the credential of the caller, or @FILE; may be repeated", collectValues, [])
    .option("--other-caller <HEADER>", "the credential of another caller, or @FILE; may be repeated", collectValues, [])
    .addOption(
      new Option("--profile <NAME>", "whose rules count: this project's profile of the IETF draft, or a protocol's")
        .choices(PROFILE_NAMES)
        .default("idempotency"),
    )
    .addOption(
      new Option("--key-form <FORM>", "how keys are written (default: quoted, or as the protocol has them)").choices([
        "quoted",
        "bare",
      ]),
    )
    .option(
      "--signed",
      "sign each request as a UCP platform does; the server has to trust the profiles at the suite's origin, /platforms/*",
    )
    .option("--requires-key", "the operation is documented to require a key")
    .option("--origin-port <PORT>", "where the suite's own origin listens, 0 for any")
    .option("--origin-host <ADDRESS>", "the address where it listens", "127.0.0.1")
    .option("--restart-command <COMMAND>", "kills the server (SIGKILL) and starts it again; ends when that is done")
    .option("--retention <DURATION>", "how long the server keeps answers; the run waits for more than that")
    .option("--lock <DURATION>", "for how long a lost call blocks its key; the run waits for more than that")
    .option("--patience <DURATION>", "how long a duplicate may take to be refused; then it counts as waiting", "1s")
    .option("--timeout <DURATION>", "how long to wait for each answer", "30s")
    .option("--only <GROUP|ID>", "a group of cases, or one case; may be repeated", collectValues, [])
    .addOption(
      new Option("--by <LEVELS>", "whose levels count: the profile's, or those of the IETF draft alone")
        .choices(["profile", "draft"])
        .default("profile"),
    )
    .option("--list", "list the cases, and send nothing")
    .option("--json", "print one JSON object: {target, mode, profile, by, totals, results}")
    .option("--junit <FILE>", "also write the results as JUnit's XML")
    .addHelpText(
      "after",
      "\nExit codes: 0 no MUST failed, 1 at least one did, 2 wrong arguments, or the server cannot be tested.",
    )
    .action(test);
}

interface ConformanceOptions {
  readonly path?: string;
  readonly otherPath?: string;
  readonly method: string;
  readonly body?: string;
  readonly otherBody?: string;
  readonly contentType: string;
  readonly header: readonly string[];
  readonly caller: readonly string[];
  readonly otherCaller: readonly string[];
  readonly profile: ProfileName;
  readonly keyForm?: TestTarget["keyForm"];
  readonly requiresKey?: boolean;
  readonly signed?: boolean;
  readonly originPort?: string;
  readonly originHost: string;
  readonly restartCommand?: string;
  readonly retention?: string;
  readonly lock?: string;
  readonly patience: string;
  readonly timeout: string;
  readonly only: readonly string[];
  readonly by: SuiteReport["by"];
  readonly list?: boolean;
  readonly json?: boolean;
  readonly junit?: string;
}

async function test(url: string | undefined, options: ConformanceOptions): Promise<void> {
  const cases = casesOf(options);
  if (options.list === true) return list(cases, options);
  if (url === undefined)
    throw new CommandFailure(EXIT_UNUSABLE, "Missing URL: write that of an operation that takes keys, or --list.");
  const target = targetOf(url, options);
  const origin = await originOf(options);
  try {
    const report = await run(target, origin, cases, options);
    if (options.junit !== undefined) writeBytes(options.junit, Buffer.from(reportJunit(report)));
    if (options.json === true) console.log(jsonLine(reportJson(report)));
    else console.log(totalsText(report, lookOf(process.stdout)));
    process.exitCode = report.totals.failed.MUST === 0 ? OK : EXIT_REFUSED;
  } catch (error) {
    if (error instanceof NotTestable) throw new CommandFailure(EXIT_UNUSABLE, error.message);
    throw error;
  } finally {
    await origin?.close();
  }
}

function casesOf({ only, profile, by }: ConformanceOptions): readonly ConformanceCase[] {
  if (by === "draft" && profile !== "idempotency") {
    throw new CommandFailure(EXIT_UNUSABLE, `--by draft goes with the profile idempotency, not with ${profile}`);
  }
  const { cases, unknown } = selectCases(only, profile);
  if (unknown.length > 0)
    throw new CommandFailure(EXIT_UNUSABLE, `No group or case is called ${unknown.join(", ")}: --list shows them.`);
  return cases;
}

function list(cases: readonly ConformanceCase[], { json }: ConformanceOptions): void {
  if (json === true) console.log(jsonLine(cases.map(caseJson)));
  else for (const line of caseLines(cases, lookOf(process.stdout))) console.log(line);
}

async function run(
  target: TestTarget,
  origin: TestOrigin | null,
  cases: readonly ConformanceCase[],
  { profile, by, json }: ConformanceOptions,
): Promise<SuiteReport> {
  const look = lookOf(process.stdout);
  const head = { target: `${target.method} ${target.base.origin}${target.path}`, profile, by } as const;
  const mode = origin === null ? "api" : "gateway";
  if (json !== true) console.log(reportHeadText({ ...head, mode }, look));
  let before: CaseResult | null = null;
  const onResult = (result: CaseResult): void => {
    if (json !== true) console.log(resultText(result, before, look));
    before = result;
  };
  const results = await runSuite({ target, origin, cases, by, onResult });
  return { ...head, mode, totals: totalsOf(results), results };
}

const PAYMENT = { amount: 100, currency: "EUR", reference: "{token}" };

const CHECKOUT = { meta: { "idempotency-key": "{key}" }, id: "{token}" };
const MEDIA_BUY = { idempotency_key: "{key}", account: { account_id: "one" }, budget: 4 };

/** A valid body and another, where the options give none. */
const BODIES: Readonly<Record<ProfileName, readonly [body: object, other: object]>> = {
  idempotency: [PAYMENT, { ...PAYMENT, amount: 101 }],
  acp: [PAYMENT, { ...PAYMENT, amount: 101 }],
  ucp: [PAYMENT, { ...PAYMENT, amount: 101 }],
  "ucp-mcp": [
    toolCall("complete_checkout", CHECKOUT),
    toolCall("complete_checkout", { ...CHECKOUT, payment: { token: "x" } }),
  ],
  adcp: [toolCall("create_media_buy", MEDIA_BUY), toolCall("create_media_buy", { ...MEDIA_BUY, budget: 5 })],
  mcp: [toolCall("pay", { amount: 25 }), toolCall("pay", { amount: 26 })],
};

function toolCall(name: string, input: object): object {
  return { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name, arguments: input } };
}

const CALLERS = ["authorization: Bearer conformance-one", "authorization: Bearer conformance-two"] as const;

/** Throws a Failure that says what to write instead. */
function targetOf(text: string, options: ConformanceOptions): TestTarget {
  const url = readTarget(text);
  const hasOrigin = options.originPort !== undefined;
  const method = parseMethod(options.method.toUpperCase());
  if (!method.ok)
    throw new CommandFailure(
      EXIT_UNUSABLE,
      `--method ${options.method} takes no key: write POST, PATCH, PUT or DELETE`,
    );
  const path = pathOf("--path", options.path ?? url.pathname);
  const { body, otherBody, header, profile } = options;
  const [usual, another] = BODIES[profile];
  // The suite's own origin knows no credentials, so any will do.
  const isFree = hasOrigin && options.caller.length === 0 && options.otherCaller.length === 0;
  const other = isFree ? [CALLERS[1]] : options.otherCaller;
  if (!isFree && other.length > 0 && options.caller.length === 0) {
    throw new CommandFailure(EXIT_UNUSABLE, "--other-caller needs --caller: the credential that is sent by default");
  }
  return {
    base: url,
    method: method.value,
    path,
    otherPath:
      options.otherPath === undefined
        ? hasOrigin
          ? `${path}/other`
          : null
        : pathOf("--other-path", options.otherPath),
    body: body === undefined ? JSON.stringify(usual) : readData(body).toString(),
    otherBody:
      otherBody === undefined ? (body === undefined ? JSON.stringify(another) : null) : readData(otherBody).toString(),
    contentType: options.contentType,
    headers: readHeaders(header),
    caller: readHeaders(isFree ? [CALLERS[0]] : options.caller),
    otherCaller: other.length === 0 ? null : readHeaders(other),
    keyForm: options.keyForm ?? (options.profile === "idempotency" ? "quoted" : "bare"),
    isSigned: options.signed === true,
    requiresKey: options.requiresKey === true,
    retentionMs: options.retention === undefined ? null : durationOf("--retention", options.retention),
    lockMs: options.lock === undefined ? null : durationOf("--lock", options.lock),
    patienceMs: durationOf("--patience", options.patience),
    timeoutMs: durationOf("--timeout", options.timeout),
    restartCommand: options.restartCommand ?? null,
  };
}

function pathOf(option: string, path: string): string {
  if (/^\/[^\s?#]*$/.test(path)) return path;
  throw new CommandFailure(EXIT_UNUSABLE, `${option} ${path}: must begin with "/", without a query or blanks`);
}

function durationOf(option: string, text: string): number {
  const duration = parseDuration(text);
  if (!duration.ok) throw new CommandFailure(EXIT_UNUSABLE, `${option} ${duration.message}`);
  return duration.value;
}

async function originOf({ originPort, originHost }: ConformanceOptions): Promise<TestOrigin | null> {
  if (originPort === undefined) return null;
  const port = /^\d{1,5}$/.test(originPort) ? Number(originPort) : 65_536;
  if (port > 65_535)
    throw new CommandFailure(EXIT_UNUSABLE, `--origin-port ${originPort}: must be a port, from 0 to 65535`);
  try {
    return await startOrigin(originHost, port);
  } catch (error) {
    throw new CommandFailure(EXIT_UNUSABLE, `--origin-port ${port}: cannot listen there (${messageOf(error)})`);
  }
}
