// What the options of `onceway conformance` say about the server under test: where it is, what it is sent, and by whom.

import { parseDuration } from "../kernel/config/units.ts";
import { parseMethod } from "../kernel/config/values.ts";
import type { ProfileName } from "../conformance/catalogue.ts";
import { problemOf } from "../conformance/findings.ts";
import type { SuiteReport } from "../conformance/report.ts";
import type { TestTarget } from "../conformance/target.ts";
import { FIRST_ID, type JsonMembers, TARGET_TOOLS, type TargetTool, toolCallText } from "../conformance/tool-call.ts";
import { readData, readHeaders, readTarget } from "./arguments.ts";
import { CommandFailure, EXIT_UNUSABLE } from "./exit-codes.ts";

export interface ConformanceOptions {
  readonly path?: string;
  readonly otherPath?: string;
  readonly method: string;
  readonly body?: string;
  readonly otherBody?: string;
  readonly tool?: string;
  readonly arguments?: string;
  readonly otherArguments?: string;
  readonly readTool?: string;
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

const PAYMENT = { amount: 100, currency: "EUR", reference: "{token}" };

/** Of the tools of `--profile`; `null`: its requests are no calls of tools. Throws a failure that says what to write instead. */
function toolOf(options: ConformanceOptions): TargetTool | null {
  const { profile, body, otherBody, tool, otherArguments, readTool } = options;
  const known = Object.entries(TARGET_TOOLS).find(([name]) => name === profile)?.[1];
  const isNamed = [tool, options.arguments, otherArguments, readTool].some((text) => text !== undefined);
  if (known === undefined) {
    if (!isNamed) return null;
    const names = Object.keys(TARGET_TOOLS).join(", ");
    throw new CommandFailure(EXIT_UNUSABLE, `--tool, --arguments and --read-tool go with the profiles ${names}`);
  }
  if (body !== undefined || otherBody !== undefined)
    throw new CommandFailure(
      EXIT_UNUSABLE,
      `--profile ${profile} calls a tool: write --tool and --arguments, not --body`,
    );
  const isKnown = tool === undefined && options.arguments === undefined;
  const other = isKnown ? known.otherArguments : null;
  return {
    name: tool ?? known.name,
    arguments: options.arguments === undefined ? known.arguments : membersOf("--arguments", options.arguments),
    otherArguments: otherArguments === undefined ? other : membersOf("--other-arguments", otherArguments),
    readName: readTool ?? known.readName,
  };
}

function membersOf(option: string, text: string): JsonMembers {
  const members = problemOf({ body: readData(text) });
  if (members === null)
    throw new CommandFailure(EXIT_UNUSABLE, `${option} must be a JSON object, such as '{"amount":25}'`);
  return members;
}

/** So that servers of MCP answer at all (MCP, Streamable HTTP). */
const ACCEPT = ["Accept", "application/json, text/event-stream"] as const;

const CALLERS = ["authorization: Bearer conformance-one", "authorization: Bearer conformance-two"] as const;

/** Throws a Failure that says what to write instead. */
export function conformanceTarget(text: string, options: ConformanceOptions): TestTarget {
  const url = readTarget(text);
  const hasOrigin = options.originPort !== undefined;
  const method = parseMethod(options.method.toUpperCase());
  if (!method.ok)
    throw new CommandFailure(
      EXIT_UNUSABLE,
      `--method ${options.method} takes no key: write POST, PATCH, PUT or DELETE`,
    );
  const path = pathOf("--path", options.path ?? url.pathname);
  const { body, otherBody, header } = options;
  const tool = toolOf(options);
  const call = (input?: "other"): string =>
    tool === null ? "" : toolCallText(tool, { id: FIRST_ID, ...(input === undefined ? null : { input }) });
  const usual = tool === null ? JSON.stringify(PAYMENT) : call();
  const another = tool === null ? JSON.stringify({ ...PAYMENT, amount: 101 }) : call("other");
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
    body: body === undefined ? usual : readData(body).toString(),
    otherBody: otherBody === undefined ? (body === undefined ? another : null) : readData(otherBody).toString(),
    contentType: options.contentType,
    tool,
    headers: [...(tool === null ? [] : [ACCEPT]), ...readHeaders(header)],
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
