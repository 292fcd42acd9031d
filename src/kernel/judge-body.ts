// What a feature says of answers whose status says that they are results, by what is in their bodies (ObjectFunctions).

import type { RouteRules } from "./config/resolved.ts";
import type { NoResult } from "./record/verdict.ts";
import type { HeaderPairs } from "./request/headers.ts";

/** An answer of the origin of which no byte of its body has been read. */
export interface AnswerHead {
  readonly status: number;
  readonly headers: HeaderPairs;
}

/**
 * What has to be read of an answer whose status says that it is a result, before anything of it is stored or sent. `null`: nothing of its body counts.
 * `unreadable`: something would, and cannot be read.
 */
export type JudgeBody = (answer: AnswerHead, rules: RouteRules) => BodyQuestion | "unreadable" | null;

/** What the whole body says. */
export type BodyQuestion = (body: Uint8Array) => Promise<BodyVerdict | "unreadable">;

/** `at`: the pointer of the rule that decided. */
export type BodyVerdict = { readonly is: NoResult; readonly at: string } | { readonly is: "result" };

/** What finds the response to a call in an event stream; `null`: this answer is none of which that counts. */
export type WatchMessages = (answer: AnswerHead, rules: RouteRules) => MessageWatch | null;

export interface MessageWatch {
  /** `null`: it has not come. `unreadable`: it may have come, and nobody can tell. */
  readonly message: Uint8Array | "unreadable" | null;
  /** The next bytes of the stream, which may be used again afterwards. */
  take(bytes: Uint8Array): void | Promise<void>;
  /** The message as a stream of its own. */
  asStream(message: Uint8Array): Uint8Array;
  /** To be called at the end. */
  free(): void;
}
