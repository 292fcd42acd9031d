// Cases in few words: the defaults that most of them share.

import type { ConformanceCase, RequirementLevel, CaseNeed, CaseStep, OriginBehaviour } from "../case.ts";

export type CaseText = Omit<ConformanceCase, "draft" | "needs" | "level"> & Partial<Pick<ConformanceCase, "needs">>;

/** `draft`: its section and level, such as `2.6 SHOULD`. */
export function mustCase(text: CaseText, draft?: `${string} ${RequirementLevel}`): ConformanceCase {
  return define("MUST", text, draft);
}

export function shouldCase(text: CaseText, draft?: `${string} ${RequirementLevel}`): ConformanceCase {
  return define("SHOULD", text, draft);
}

export function mayCase(text: CaseText, draft?: `${string} ${RequirementLevel}`): ConformanceCase {
  return define("MAY", text, draft);
}

const NO_NEEDS: readonly CaseNeed[] = [];

function define(level: RequirementLevel, text: CaseText, draft?: `${string} ${RequirementLevel}`): ConformanceCase {
  return { needs: NO_NEEDS, ...text, level, draft: draft === undefined ? null : traceOf(draft) };
}

function traceOf(text: `${string} ${RequirementLevel}`): ConformanceCase["draft"] {
  const [section = "", level = ""] = text.split(" ");
  const known = (["MUST", "SHOULD", "MAY"] as const).find((one) => one === level);
  if (known === undefined) throw new TypeError(`${text} is no section and level`);
  return { section, level: known };
}

export const sendStep = (as: string, wish?: OriginBehaviour): CaseStep => ({
  do: "send",
  as,
  ...(wish === undefined ? {} : { with: wish }),
});
export const openStep = (as: string, wish?: OriginBehaviour): CaseStep => ({
  do: "open",
  as,
  ...(wish === undefined ? {} : { with: wish }),
});
export const endStep = (as: string): CaseStep => ({ do: "end", as });
export const lookStep = (as: string): CaseStep => ({ do: "look", as });
export const settleStep = (as: string): CaseStep => ({ do: "settle", as });
export const releaseStep: CaseStep = { do: "release" };
export const calledStep: CaseStep = { do: "called" };
export const restartStep: CaseStep = { do: "restart" };

export const twiceSteps: readonly CaseStep[] = [sendStep("first"), sendStep("again")];

/** The reply is cut, not the server: the client's line breaks once the origin has been called, and it asks again. */
export const cutSteps: readonly CaseStep[] = [
  openStep("first"),
  calledStep,
  { do: "leave", as: "first" },
  releaseStep,
  settleStep("again"),
];

/** A second request while the first one runs. */
export const whileRunningSteps = (again?: OriginBehaviour, first?: OriginBehaviour): readonly CaseStep[] => [
  openStep("first", first),
  calledStep,
  openStep("again", again),
  lookStep("again"),
  releaseStep,
  endStep("first"),
  endStep("again"),
];

const COPIES = 10;
/** The same request so many times at once. */
export const burstStep: CaseStep = { do: "burst", as: "copy", times: COPIES };
export const COPY_NAMES: readonly string[] = Array.from({ length: COPIES }, (_, at) => `copy.${at}`);
