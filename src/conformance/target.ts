// The server under test, and what the options say about it.

import type { HeaderPair } from "./http-response.ts";
import type { CaseNeed } from "./case.ts";
import type { TargetTool } from "./tool-call.ts";

export interface TestTarget {
  /** Host, port and scheme. */
  readonly base: URL;
  /** The operation: its method, and its path without a query. */
  readonly method: string;
  readonly path: string;
  /** Another operation that takes the same payload; `null` if there is none. */
  readonly otherPath: string | null;
  /** The payload. `{token}` in it becomes a value that is new for each case. */
  readonly body: string;
  /** Another valid payload; `null` if none is known. */
  readonly otherBody: string | null;
  readonly contentType: string;
  /** Of which the payload is a call; `null` with a profile that is not about tools. */
  readonly tool: TargetTool | null;
  /** Of each request. */
  readonly headers: readonly HeaderPair[];
  /** The credential of the caller, and of another one; `null` if there is none. */
  readonly caller: readonly HeaderPair[];
  readonly otherCaller: readonly HeaderPair[] | null;
  readonly keyForm: "quoted" | "bare";
  /** Whether requests are signed, by platforms whose keys the suite's origin publishes. */
  readonly isSigned: boolean;
  /** Whether a key is required, by the options; the policy may say so too. */
  readonly requiresKey: boolean;
  /** How long the server keeps answers, and for how long a lost call blocks its key; `null` if that is not known. */
  readonly retentionMs: number | null;
  readonly lockMs: number | null;
  /** How long a duplicate may take to be refused. Then it counts as one that waits. */
  readonly patienceMs: number;
  /** For each answer. */
  readonly timeoutMs: number;
  /** A shell command that kills the server (SIGKILL) and starts it again; `null` if there is none. */
  readonly restartCommand: string | null;
}

/** Names the case in its requests; the suite's origin knows its calls by it. */
export const TOKEN_HEADER = "X-Conformance-Case";

/** What the options have to say, or the run to have, for each need that is not met; `null` if it is met. */
export function missingNeed(
  need: CaseNeed,
  target: TestTarget,
  hasOrigin: boolean,
  isKeyRequired: boolean,
): string | null {
  switch (need) {
    case "origin":
      return hasOrigin ? null : "needs --origin-port, to count calls";
    case "restart":
      return target.restartCommand === null ? "needs --restart-command" : null;
    case "retention":
      return target.retentionMs === null ? "needs --retention" : null;
    case "lock":
      return target.lockMs === null ? "needs --lock" : null;
    case "other-body":
      return target.otherBody === null ? "needs --other-body" : null;
    case "other-path":
      return target.otherPath === null ? "needs --other-path" : null;
    case "other-caller":
      return target.otherCaller === null ? "needs --caller and --other-caller" : null;
    case "other-arguments":
      return (target.tool?.otherArguments ?? null) === null ? "needs --other-arguments" : null;
    case "read-tool":
      return (target.tool?.readName ?? null) === null ? "needs --read-tool" : null;
    case "signed":
      return target.isSigned && hasOrigin ? null : "needs --signed and --origin-port";
    case "requires-key":
      return isKeyRequired ? null : "the server does not say that it requires a key: needs --requires-key";
  }
}
