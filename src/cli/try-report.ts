// The output of `onceway try`: one line for each request, then the diagnosis. Pure.

import { alignColumns, type TerminalLook, printableText } from "./look.ts";
import { type HttpAnswer, headerOf } from "./send.ts";
import { readGatewayMarks } from "./gateway-marks.ts";
import type { Diagnosis } from "./diagnose.ts";

export interface TrialReport {
  readonly method: string;
  readonly url: string;
  readonly key: string;
  /** First, the same again, changed: as many as were sent. */
  readonly answers: readonly HttpAnswer[];
  readonly diagnosis: Diagnosis;
}

export function trialText({ method, url, key, answers, diagnosis }: TrialReport, look: TerminalLook): string {
  const { works, happened, advice } = diagnosis;
  const [gist = "", ...others] = happened.map(printableText);
  const lines = alignColumns(answers.map((answer, index) => answerCells(answer, index)));
  return [
    look.paint("bold", `${method} ${url}`),
    look.paint("dim", `key ${printableText(keyRead(answers[0]) ?? key)}`),
    ...lines.map((line) => `  ${line}`),
    "",
    works ? look.paint("green", `✓ ${gist}`) : look.paint("red", `✗ ${gist}`),
    ...others.map((sentence) => `  ${sentence}`),
    ...(advice === null ? [] : [`  ${look.paint("yellow", "→")} ${printableText(advice)}`]),
  ].join("\n");
}

/** The key that the gateway found elsewhere in the request (`key_from`): it writes that one in parentheses. */
function keyRead(first: HttpAnswer | undefined): string | null {
  const echo = first === undefined ? null : headerOf(first, "idempotency-key");
  return echo?.startsWith("(") === true ? `${echo}, from the request itself` : null;
}

const ORDINALS = ["first", "the same again", "changed body"];

function answerCells(answer: HttpAnswer, index: number): readonly string[] {
  const { echoed, replayed, unprotected, expires, problem } = readGatewayMarks(answer);
  const marks = [
    problem === null ? "" : `the gateway's problem ${problem.code}`,
    replayed ? "replayed" : "",
    unprotected ? "unprotected" : "",
    expires === null ? "" : `kept until ${expires}`,
    echoed || problem !== null ? "" : "no sign of a gateway",
  ];
  return [
    ORDINALS[index] ?? "",
    printableText(`${answer.status} ${answer.statusText}`.trimEnd()),
    `${answer.durationMs.toFixed(0)} ms`,
    `${answer.body.length} bytes`,
    printableText(marks.filter((mark) => mark !== "").join(", ")),
  ];
}

/** For scripts: one object. */
export function trialJson({ method, url, key, answers, diagnosis }: TrialReport): object {
  return {
    method,
    url,
    key,
    diagnosis: diagnosis.code,
    works: diagnosis.works,
    happened: diagnosis.happened,
    advice: diagnosis.advice,
    answers: answers.map((answer) => {
      const { echoed, replayed, unprotected, expires, problem } = readGatewayMarks(answer);
      const { status, durationMs, body } = answer;
      return {
        status,
        durationMs: Math.round(durationMs),
        bodyBytes: body.length,
        echoed,
        replayed,
        unprotected,
        expires,
        problem: problem?.code ?? null,
      };
    }),
  };
}
