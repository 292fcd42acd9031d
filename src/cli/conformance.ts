// `onceway conformance URL`: runs the language-neutral suite (../conformance/README.md) against any server that takes idempotency
// keys.

import { type Command, Option } from "commander";

import type { ConformanceCase } from "../conformance/case.ts";
import { PROFILE_NAMES, selectCases } from "../conformance/catalogue.ts";
import { type TestOrigin, startOrigin } from "../conformance/test-origin.ts";
import { caseJson, type SuiteReport, reportJson, reportJunit } from "../conformance/report.ts";
import { NotTestable, type CaseResult, runSuite, totalsOf } from "../conformance/suite.ts";
import type { TestTarget } from "../conformance/target.ts";
import { collectValues, writeBytes } from "./arguments.ts";
import { type ConformanceOptions, conformanceTarget } from "./conformance-target.ts";
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
    .option("--tool <NAME>", "over MCP: the tool, each of whose calls takes effect")
    .option(
      "--arguments <JSON>",
      "valid arguments of the tool, or @FILE; in them {key} becomes a case's key, {token} a value of its own",
    )
    .option("--other-arguments <JSON>", "other valid arguments, or @FILE")
    .option("--read-tool <NAME>", "over MCP: a tool that only reads, and needs no arguments")
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

async function test(url: string | undefined, options: ConformanceOptions): Promise<void> {
  const cases = casesOf(options);
  if (options.list === true) return list(cases, options);
  if (url === undefined)
    throw new CommandFailure(EXIT_UNUSABLE, "Missing URL: write that of an operation that takes keys, or --list.");
  const target = conformanceTarget(url, options);
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
