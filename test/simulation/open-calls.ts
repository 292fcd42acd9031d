// The calls that the next step may concern.

import type { Origin, OriginCall } from "./origin.ts";

export type Calls = Readonly<Record<"arrive" | "act" | "answer" | "body" | "lose", readonly OriginCall[]>>;

export function openCalls({ calls }: Origin): Calls {
  return {
    arrive: calls.filter(({ work }) => work === "on the wire"),
    act: calls.filter(({ work, hasActed }) => work === "at work" && !hasActed),
    answer: calls.filter(({ work, isHeard, status }) => work === "at work" && isHeard && status === 0),
    body: calls.filter(({ isAnswering }) => isAnswering),
    lose: calls.filter(({ isHeard, work }) => isHeard && work !== "held"),
  };
}
