// What a case of the suite is: a script of requests, and a judge of what was seen. Both are data and pure: the player (player.ts)
// does all that touches a network.

import type { HeaderPair, RawResponse } from "./http-response.ts";
import type { RequestSigning } from "./platforms.ts";
import type { ToolCall } from "./tool-call.ts";

/** RFC 2119. */
export type RequirementLevel = "MUST" | "SHOULD" | "MAY";

/** What the target must have, or the options must say, for a case to apply. */
export type CaseNeed =
  /** The suite's own origin behind the target, which counts calls. */
  | "origin"
  | "restart"
  | "retention"
  | "lock"
  | "other-body"
  | "other-path"
  | "other-caller"
  | "requires-key"
  | "signed"
  | "other-arguments"
  | "read-tool";

export interface ConformanceCase {
  /** `group.name`; stable between versions. */
  readonly id: string;
  /** What a server does that passes. */
  readonly says: string;
  /** The profile's level. */
  readonly level: RequirementLevel;
  /** The requirement of the profile (profile/README.md), such as `P7`, or the section of the protocol. */
  readonly profile: string;
  /** The same in draft-ietf-httpapi-idempotency-key-header-07; `null` where the draft is silent. */
  readonly draft: { readonly section: string; readonly level: RequirementLevel } | null;
  readonly needs: readonly CaseNeed[];
  /** How the suite's origin answers; 201 with a body that differs at each call by default. */
  readonly origin?: CaseBehaviour;
  readonly script: readonly CaseStep[];
  readonly judge: (seen: CaseObservation) => CaseVerdict;
}

/** How the origin answers the calls of one case: each by its own entry, later ones by the last. */
export type CaseBehaviour = readonly [CallBehaviour, ...CallBehaviour[]];

export interface CallBehaviour {
  /** 201 by default. */
  readonly status?: number;
  readonly headers?: readonly HeaderPair[];
  /** The body's pieces, Latin-1, one byte each. One piece that differs at each call by default. */
  readonly pieces?: readonly string[];
  /** Waits for the step `release` before it answers (`head`), or after the first piece of the body (`body`). */
  readonly hold?: "head" | "body";
  /** Breaks the connection instead of answering (`head`), or after the first piece of the body (`body`). */
  readonly drop?: "head" | "body";
}

export type CaseStep =
  /** Sends a request and waits for the end of its answer, which gets the name `as`. */
  | { readonly do: "send"; readonly as: string; readonly with?: OriginBehaviour }
  /** Sends a request and does not wait. */
  | { readonly do: "open"; readonly as: string; readonly with?: OriginBehaviour }
  /** Sends the same request so many times at once; the answers are `NAME.0`, `NAME.1` … */
  | { readonly do: "burst"; readonly as: string; readonly times: number }
  /** Waits until the origin has been called. */
  | { readonly do: "called" }
  /** Gives an open request some time to be answered, and notes whether it was. */
  | { readonly do: "look"; readonly as: string }
  /** Waits until a piece of an open request's answer is there, and notes whether it came in time. */
  | { readonly do: "piece"; readonly as: string }
  /** The origin goes on with the call that it holds. */
  | { readonly do: "release" }
  /** Waits for the end of an open request. */
  | { readonly do: "end"; readonly as: string }
  /** Breaks the connection of an open request, as a client that crashes does. */
  | { readonly do: "leave"; readonly as: string }
  /** Kills the server and starts it again. */
  | { readonly do: "restart" }
  /** Sends the request again until its answer no longer asks for a later try, or the time for it is over. */
  | { readonly do: "settle"; readonly as: string }
  | { readonly do: "pause"; readonly until: "half the retention" | "after the retention" | "after the lock" }
  | { readonly do: "origin"; readonly is: "down" | "up" };

/** What a request has instead of the target's defaults. */
export interface OriginBehaviour {
  readonly method?: string;
  /**
   * The lines of the key's header as on the wire, `{key}` being the case's own key; `null` for none. `another` is a second key in
   * the target's usual form.
   */
  readonly key?: "another" | readonly string[] | null;
  /** Added to the target's path. */
  readonly query?: string;
  /** The target's other path, or one below its own. */
  readonly path?: "other" | { readonly below: string };
  readonly caller?: "other" | "none";
  /**
   * The target's other payload, a text of the target's type, or bytes (Latin-1) of the type `application/octet-stream`. In texts `{key}` is the case's own key,
   * and `{token}` a value of its own.
   */
  readonly body?:
    | "other"
    | { readonly text: string }
    | { readonly bytes: string }
    /** A call of the target's tool, or a batch of them. */
    | { readonly call: ToolCall | readonly ToolCall[] };
  /** Of MCP: another one than usual. */
  readonly session?: "another";
  readonly headers?: readonly HeaderPair[];
  /** Where the target's requests are signed: how this one is, where it differs; `null`: not at all. */
  readonly sign?: Partial<RequestSigning> | null;
}

/** What came of a request: its answer, or why there is none. */
export type RequestReply = RawResponse | { readonly lost: string };

/** One call of the origin. */
export interface ObservedCall {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly HeaderPair[];
  readonly body: Buffer;
}

/** What the target publishes about its route (profile, P24), as far as cases depend on it. */
export interface TargetPolicy {
  readonly profile: string | null;
  readonly isKeyRequired: boolean | null;
  readonly unknownOutcome: string | null;
  readonly mismatchStatus: number | null;
  readonly retentionSeconds: number | null;
}

/** All that was seen of a case. */
export interface CaseObservation {
  readonly replies: Readonly<Record<string, RequestReply>>;
  /** The requests that had an answer, or a piece of one, when the script looked. */
  readonly early: readonly string[];
  /** `null` without an origin. */
  readonly calls: readonly ObservedCall[] | null;
  readonly policy: TargetPolicy | null;
  /** The body that the requests had by default. */
  readonly sent: Buffer;
}

export type CaseVerdict =
  | { readonly is: "passed" }
  | { readonly is: "failed"; readonly why: string }
  /** It does not apply to what this server does. */
  | { readonly is: "skipped"; readonly why: string };

/** The level of a case by the profile, or by the draft; `null` where that is silent. */
export function levelOf({ level, draft }: ConformanceCase, by: "profile" | "draft"): RequirementLevel | null {
  return by === "profile" ? level : (draft?.level ?? null);
}

export function groupOf({ id }: ConformanceCase): string {
  return id.split(".", 1)[0] ?? id;
}
