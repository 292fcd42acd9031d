// Runs cases against a server, one after the other, and collects their results.

import {
  type ConformanceCase,
  type RequirementLevel,
  levelOf,
  type CaseNeed,
  type TargetPolicy,
  type CaseVerdict,
} from "./case.ts";
import { hasResultOf, resultIn } from "./cases/rpc-findings.ts";
import { hasAnswerOf } from "./findings.ts";
import { type HeaderPair, headerValue } from "./http-response.ts";
import { askServer, playCase, type PlayerStage } from "./player.ts";
import type { TestOrigin } from "./test-origin.ts";
import { readPolicy } from "./policy.ts";
import { missingNeed, type TestTarget } from "./target.ts";

export interface CaseResult {
  readonly case: ConformanceCase;
  /** By the profile or the draft, as the options say. */
  readonly level: RequirementLevel;
  readonly verdict: CaseVerdict;
  readonly durationMs: number;
}

export interface SuiteOptions {
  readonly target: TestTarget;
  readonly origin: TestOrigin | null;
  readonly cases: readonly ConformanceCase[];
  /** Which levels count. With `draft`, cases about which the draft is silent are left out. */
  readonly by: "profile" | "draft";
  readonly onResult: (result: CaseResult) => void;
}

/** The server cannot be tested at all: the message says what to change. */
export class NotTestable extends Error {}

/** Throws `NotTestable` if plain first requests do not succeed, or cannot be distinguished. */
export async function runSuite(options: SuiteOptions): Promise<readonly CaseResult[]> {
  const { target, origin, cases, by, onResult } = options;
  const stage: PlayerStage = { target, origin, policy: await fetchPolicy(target), sessions: await sessionsOf(options) };
  await greet(stage);
  const results: CaseResult[] = [];
  for (const one of cases) {
    const level = levelOf(one, by);
    if (level === null) continue;
    const begunMs = performance.now();
    const verdict = await verdictOf(one, stage);
    const result: CaseResult = { case: one, level, verdict, durationMs: Math.round(performance.now() - begunMs) };
    results.push(result);
    onResult(result);
  }
  return results;
}

async function verdictOf(one: ConformanceCase, stage: PlayerStage): Promise<CaseVerdict> {
  const { target, origin, policy } = stage;
  const isKeyRequired = target.requiresKey || policy?.isKeyRequired === true;
  const lacking = (need: CaseNeed): string | null => missingNeed(need, target, origin !== null, isKeyRequired);
  const why = one.needs.map(lacking).find((text) => text !== null);
  if (typeof why === "string") return { is: "skipped", why };
  try {
    return one.judge(await playCase(one, stage));
  } catch (error) {
    return { is: "failed", why: error instanceof Error ? error.message : String(error) };
  }
}

/** The suite's own origin knows no sessions, so any will do. */
async function sessionsOf({ target, origin }: SuiteOptions): Promise<PlayerStage["sessions"]> {
  if (target.tool === null) return { usual: [], another: [] };
  if (origin !== null) return { usual: [], another: [["Mcp-Session-Id", "another"]] };
  return { usual: await openSession(target), another: await openSession(target) };
}

/** Of MCP: Lifecycle, and Session Management. */
const MCP_VERSION = "2025-06-18";

/** The headers of requests in a new session of MCP, for servers that answer calls within one only; none where the server has no sessions. */
async function openSession(target: TestTarget): Promise<readonly HeaderPair[]> {
  const params = { protocolVersion: MCP_VERSION, capabilities: {}, clientInfo: { name: "conformance", version: "1" } };
  const reply = await tell(target, { jsonrpc: "2.0", id: 1, method: "initialize", params }, []);
  const id = "lost" in reply || reply.status !== 200 ? null : headerValue(reply, "mcp-session-id");
  if (id === null) return [];
  const session = [
    ["Mcp-Session-Id", id],
    ["Mcp-Protocol-Version", MCP_VERSION],
  ] as const;
  await tell(target, { jsonrpc: "2.0", method: "notifications/initialized" }, session);
  return session;
}

function tell(target: TestTarget, message: object, session: readonly HeaderPair[]): ReturnType<typeof askServer> {
  const headers = [["Content-Type", target.contentType] as const, ...session];
  return askServer(target, "POST", target.path, target.timeoutMs, { headers, body: JSON.stringify(message) });
}

async function fetchPolicy(target: TestTarget): Promise<TargetPolicy | null> {
  const reply = await askServer(target, "GET", "/.well-known/idempotency", target.timeoutMs);
  return "lost" in reply || reply.status !== 200 ? null : readPolicy(reply.body, target.method, target.path);
}

const GREETING: ConformanceCase = {
  id: "greeting",
  says: "",
  level: "MUST",
  profile: "",
  draft: null,
  needs: [],
  script: [
    { do: "send", as: "first" },
    { do: "send", as: "other", with: { key: "another" } },
  ],
  judge: () => ({ is: "passed" }),
};

async function greet(stage: PlayerStage): Promise<void> {
  const { target, origin } = stage;
  const seen = await playCase(GREETING, stage);
  const { replies, calls } = seen;
  const reply = replies["first"] ?? { lost: "it was not sent" };
  const what = `${target.method} ${target.base.origin}${target.path}`;
  if ("lost" in reply) throw new NotTestable(`${what}: no answer (${reply.lost}).`);
  if (reply.status < 200 || reply.status > 299) {
    const text = reply.body.subarray(0, 300).toString();
    const location = headerValue(reply, "location");
    if (reply.status < 400 && location !== null) {
      throw new NotTestable(`${what}: a first request was sent on to ${location} (${reply.status}): write that URL.`);
    }
    throw new NotTestable(
      `${what}: a first request got ${reply.status}, so nothing can be tested. Its path, body and credential must be valid: ${validOptions(target)}.\n${text}`,
    );
  }
  if (calls === null && target.tool !== null && resultIn(seen, "first") === null) {
    throw new NotTestable(
      `${what}: the tool ${target.tool.name} gave no result, so nothing can be tested. Its name, arguments and credential must be valid: ${validOptions(target)}.\n${reply.body.subarray(0, 300).toString()}`,
    );
  }
  const isAlike =
    target.tool === null ? hasAnswerOf(seen, "other", "first") : hasResultOf(seen, "other", "first")() === null;
  if (calls === null && isAlike) {
    throw new NotTestable(
      `${what}: two operations got the same answer, so a replay cannot be distinguished from a second run. Choose an operation whose answer names what it made, or let the suite count calls: --origin-port.`,
    );
  }
  if (calls?.length === 0) {
    throw new NotTestable(
      `${what} answered ${reply.status}, but called nothing at port ${origin?.port ?? 0}: have it forward there, or leave out --origin-port.`,
    );
  }
}

function validOptions({ tool }: TestTarget): string {
  return tool === null ? "--path, --body, --header" : "--path, --tool, --arguments, --header";
}

export interface SuiteTotals {
  readonly passed: number;
  readonly skipped: number;
  readonly failed: Readonly<Record<RequirementLevel, number>>;
}

export function totalsOf(results: readonly CaseResult[]): SuiteTotals {
  const count = (is: CaseVerdict["is"], level: RequirementLevel | null = null): number =>
    results.filter((one) => one.verdict.is === is && (level === null || one.level === level)).length;
  return {
    passed: count("passed"),
    skipped: count("skipped"),
    failed: { MUST: count("failed", "MUST"), SHOULD: count("failed", "SHOULD"), MAY: count("failed", "MAY") },
  };
}
