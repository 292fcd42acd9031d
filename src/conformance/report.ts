// The results for programs: JSON, and JUnit's XML for continuous integration.

import { type ConformanceCase, groupOf } from "./case.ts";
import type { ProfileName } from "./catalogue.ts";
import type { CaseResult, SuiteTotals } from "./suite.ts";

export interface SuiteReport {
  /** Method and URL. */
  readonly target: string;
  /** `gateway`: the suite's own origin was behind it. */
  readonly mode: "gateway" | "api";
  /** Whose rules: this project's profile, or a protocol's. */
  readonly profile: ProfileName;
  readonly by: "profile" | "draft";
  readonly totals: SuiteTotals;
  readonly results: readonly CaseResult[];
}

/** As JSON: one member for each case, in the order of the run. */
export function reportJson({ results, ...head }: SuiteReport): object {
  return {
    ...head,
    results: results.map(({ case: one, level, verdict, durationMs }) => ({
      ...caseJson(one),
      level,
      result: verdict.is,
      ...(verdict.is === "passed" ? {} : { why: verdict.why }),
      durationMs,
    })),
  };
}

export function caseJson(one: ConformanceCase): object {
  const { id, says, level, profile, draft, needs } = one;
  return { id, group: groupOf(one), level, says, profile, draft, needs };
}

/**
 * JUnit knows no warnings: only a MUST that failed is a failure. A SHOULD or MAY that failed is skipped, with what it lacks as its
 * message.
 */
export function reportJunit({ target, results }: SuiteReport): string {
  const groups = new Set(results.map((one) => groupOf(one.case)));
  const suites = [...groups].map((group) => {
    const own = results.filter((one) => groupOf(one.case) === group);
    const cases = own.map(junitCase).join("");
    return `  <testsuite name="${group}" ${junitCounts(own)}>\n${cases}  </testsuite>\n`;
  });
  const name = escapeXml(`idempotency conformance of ${target}`);
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="${name}" ${junitCounts(results)}>\n${suites.join("")}</testsuites>\n`;
}

function junitCounts(results: readonly CaseResult[]): string {
  const failures = results.filter(isFailure).length;
  const skipped = results.filter((one) => one.verdict.is !== "passed" && !isFailure(one)).length;
  const seconds = results.reduce((sum, { durationMs }) => sum + durationMs, 0) / 1000;
  return `tests="${results.length}" failures="${failures}" skipped="${skipped}" time="${seconds}"`;
}

function isFailure({ level, verdict }: CaseResult): boolean {
  return verdict.is === "failed" && level === "MUST";
}

function junitCase(result: CaseResult): string {
  const { case: one, level, verdict, durationMs } = result;
  const name = escapeXml(`${one.id}: ${one.says}`);
  const open = `    <testcase classname="${groupOf(one)}" name="${name}" time="${durationMs / 1000}"`;
  if (verdict.is === "passed") return `${open}/>\n`;
  const tag = isFailure(result) ? "failure" : "skipped";
  const why = verdict.is === "failed" ? `${level} (${one.profile}): ${verdict.why}` : verdict.why;
  return `${open}>\n      <${tag} message="${escapeXml(why)}"/>\n    </testcase>\n`;
}

/** Characters that XML 1.0 forbids become question marks. */
function escapeXml(text: string): string {
  return text
    .replaceAll(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "?")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll('"', "&quot;");
}
