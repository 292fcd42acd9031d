// The calls that a consumer in a process of its own makes with `once`: it writes a line before each call and one after its answer, so that
// the call that it was killed in is known too.

import * as v from "valibot";
import type { Fetch } from "../../../src/client/index.ts";
import type { ClaimCall, ClaimEntry, ClaimWords, PositionLook } from "../history.ts";

type Begun = Omit<ClaimCall, "endAt" | "answers"> | Omit<PositionLook, "endAt" | "next">;

/** `id`: which call of which consumer. */
export type ClaimLine = { readonly id: string } & (
  | { readonly begun: Begun }
  | { readonly endAt: number; readonly answers: readonly ClaimWords[] | null; readonly next: number | null }
);

const result = v.exactOptional(
  v.pipe(
    v.object({ attemptId: v.string() }),
    v.transform(({ attemptId }) => attemptId),
  ),
);
const entry = v.pipe(
  v.object({
    key: v.string(),
    attemptId: v.string(),
    position: v.optional(v.object({ offset: v.number() })),
    effect: v.exactOptional(v.picklist(["none", "unknown"])),
    result,
  }),
  v.transform(({ position, ...rest }): ClaimEntry => ({ ...rest, offset: position?.offset ?? 0 })),
);
const sent = v.object({ claims: v.array(entry) });
const answer = v.object({
  state: v.string(),
  attempt: v.exactOptional(v.number()),
  lockedForMs: v.exactOptional(v.number()),
  result,
});
const answered = v.object({ claims: v.optional(v.array(answer)), next: v.optional(v.nullable(v.number())) });

const VERBS: readonly ClaimCall["verb"][] = ["extend", "complete", "release"];

export interface ClaimRecorder {
  readonly fetch: Fetch;
  /** The id of the attempt that was claimed last for a key; a result has to have it as its member `attemptId`. */
  attemptOf(key: string): string;
}

export function recordClaims(consumer: string, group: string, write: (line: ClaimLine) => void): ClaimRecorder {
  const attempts = new Map<string, string>();
  let calls = 0;
  return {
    attemptOf: (key) => attempts.get(key) ?? "",
    async fetch(url, init) {
      calls += 1;
      const id = `${consumer} ${calls}`;
      const begun = describe(group, new URL(url instanceof Request ? url.url : url), init?.body);
      if (begun.type === "claim-call" && begun.verb === "claim")
        for (const { key, attemptId } of begun.entries) attempts.set(key, attemptId);
      write({ id, begun });
      const response = await fetch(url, init);
      const json: unknown = response.ok ? await response.clone().json() : {};
      const { claims, next = null } = v.parse(answered, json);
      write({ id, endAt: Date.now(), answers: claims ?? null, next });
      return response;
    },
  };
}

function describe(group: string, { pathname }: URL, body: unknown): Begun {
  const sentAt = Date.now();
  if (typeof body !== "string") return { type: "position", group, sentAt };
  const verb = VERBS.find((one) => pathname.endsWith(`/${one}`)) ?? "claim";
  const { claims: entries } = v.parse(sent, JSON.parse(body));
  return { type: "claim-call", group, verb, sentAt, entries };
}

/** The calls of these lines. Those without an answer ended when their consumer did, which is no later than `at`. */
export function claimCallsIn(lines: readonly ClaimLine[], at: number): readonly (ClaimCall | PositionLook)[] {
  const ends = new Map(lines.flatMap((line) => ("endAt" in line ? [[line.id, line]] : [])));
  return lines.flatMap((line): readonly (ClaimCall | PositionLook)[] => {
    if (!("begun" in line)) return [];
    const { endAt = at, answers = null, next = null } = ends.get(line.id) ?? {};
    const { begun } = line;
    if (begun.type === "claim-call") return [{ ...begun, endAt, answers }];
    return ends.has(line.id) ? [{ ...begun, endAt, next }] : [];
  });
}
