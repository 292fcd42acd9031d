// Cases in few words: the defaults that most of them share.

import type { Case, Level, Need, CaseStep, OriginBehaviour } from "../case.ts";

export type CaseText = Omit<Case, "draft" | "needs" | "level"> & Partial<Pick<Case, "needs">>;

/** `draft`: its section and level, such as `2.6 SHOULD`. */
export function must(text: CaseText, draft?: `${string} ${Level}`): Case {
  return define("MUST", text, draft);
}

export function should(text: CaseText, draft?: `${string} ${Level}`): Case {
  return define("SHOULD", text, draft);
}

export function may(text: CaseText, draft?: `${string} ${Level}`): Case {
  return define("MAY", text, draft);
}

const NO_NEEDS: readonly Need[] = [];

function define(level: Level, text: CaseText, draft?: `${string} ${Level}`): Case {
  return { needs: NO_NEEDS, ...text, level, draft: draft === undefined ? null : traceOf(draft) };
}

function traceOf(text: `${string} ${Level}`): Case["draft"] {
  const [section = "", level = ""] = text.split(" ");
  const known = (["MUST", "SHOULD", "MAY"] as const).find((one) => one === level);
  if (known === undefined) throw new TypeError(`${text} is no section and level`);
  return { section, level: known };
}

export const send = (as: string, wish?: OriginBehaviour): CaseStep => ({
  do: "send",
  as,
  ...(wish === undefined ? {} : { with: wish }),
});
export const open = (as: string, wish?: OriginBehaviour): CaseStep => ({
  do: "open",
  as,
  ...(wish === undefined ? {} : { with: wish }),
});
export const end = (as: string): CaseStep => ({ do: "end", as });
export const look = (as: string): CaseStep => ({ do: "look", as });
export const settle = (as: string): CaseStep => ({ do: "settle", as });
export const release: CaseStep = { do: "release" };
export const isCalled: CaseStep = { do: "called" };
export const restart: CaseStep = { do: "restart" };

export const twice: readonly CaseStep[] = [send("first"), send("again")];
