// Mutants that change no behaviour, each with the reason. Lines, not places: a line that has changed is looked at again.

interface Equivalent {
  readonly file: string;
  readonly before: string;
  readonly after: string;
  readonly reason: string;
}

const EQUIVALENT: readonly Equivalent[] = [
  {
    file: "src/kernel/request/body.ts",
    before: "return this.#lease.bytes > 0;",
    after: "return this.#lease.bytes >= 0;",
    reason: "it only saves a race: a body that is not counted is never given up",
  },
  {
    file: "src/kernel/store/expired-records.ts",
    before: "row.head_bytes + (tells ? row.request_bytes : 0) + (fitsSlice(row) ? row.bytes : 0),",
    after: "row.head_bytes + (tells ? row.request_bytes : (-1)) + (fitsSlice(row) ? row.bytes : 0),",
    reason: "nothing promises the byte of a slice",
  },
  {
    file: "src/kernel/request/intent.ts",
    before: 'const hasTrailingSlash = routes.some(({ path }) => path.length > 1 && path.endsWith("/"));',
    after: 'const hasTrailingSlash = routes.some(({ path }) => (path.length > 1 || path.endsWith("/")));',
    reason: "it only saves time: a path without the slash finds the same routes with it",
  },
  {
    file: "src/kernel/request/key-set.ts",
    before: "export const UNKNOWN_MS = 10_000;",
    after: "export const UNKNOWN_MS = 9999;",
    reason: "nothing promises the millisecond, and the tests read the constant",
  },
  {
    file: "src/kernel/request/key-set.ts",
    before: "export const FAILED_MS = 2_000;",
    after: "export const FAILED_MS = 2001;",
    reason: "nothing promises the millisecond, and the tests read the constant",
  },
  {
    file: "src/kernel/request/session-cookie.ts",
    before: "if (!cookies.includes(SESSION_COOKIE)) return cookies;",
    after: "",
    reason: "it only saves time: the next two lines find the same",
  },
  {
    file: "src/kernel/object/shard-traffic.ts",
    before: "return this.#kept?.isRefused ?? false;",
    after: "return this.#kept?.isRefused ?? true;",
    reason: "nobody asks the object of a single key",
  },
  {
    file: "src/kernel/body/upload.ts",
    before: "return { head, body: streamedBody(pacedBody(reader, timers, new Pace(idleMs, 1)), upload.length) };",
    after: "return { head, body: streamedBody(pacedBody(reader, timers, new Pace(idleMs, 0)), upload.length) };",
    reason: "no piece is empty",
  },
  {
    file: "src/features/forms/multipart.ts",
    before: "function withByte(before: number, byte = 0): number {",
    after: "function withByte(before: number, byte = 1): number {",
    reason: "each byte is there",
  },
  {
    file: "src/kernel/request/well-known.ts",
    before: '"body-too-large": { code: "body-too-large", limitBytes: 0 },',
    after: '"body-too-large": { code: "body-too-large", limitBytes: (-1) },',
    reason: "no evidence of an example is published",
  },
  {
    file: "src/kernel/body/chunk.ts",
    before: "if (this.#users > 1) this.#free = holdBytes(this.bytes);",
    after: "if (this.#users > 0) this.#free = holdBytes(this.bytes);",
    reason: "a chunk without a reader is freed in the same turn, whether it counts as held or not",
  },
  {
    file: "src/kernel/object/operator-calls.ts",
    before: "if (bytes === null) return new Response(null, { status: 404 });",
    after: "if (bytes === null) return new Response(null, { status: 405 });",
    reason: "whoever asks looks only whether it is 200",
  },
  {
    file: "src/kernel/resume/event-stream.ts",
    before: "for (at += 1; at < bytes.length; at++) if (bytes[at] === LF || bytes[at] === CR) return at;",
    after: "for (at += 0; at < bytes.length; at++) if (bytes[at] === LF || bytes[at] === CR) return at;",
    reason: "the byte that is looked at again was no end of a line",
  },
  {
    file: "src/kernel/overflow/remote-bodies.ts",
    before: "#pausedUntil = epochMs(0);",
    after: "#pausedUntil = epochMs(1);",
    reason: "both are long past",
  },
  {
    file: "src/kernel/request/json-places.ts",
    before: "slice = Math.min(2 * slice, SLICE);",
    after: ";",
    reason: "it only saves pauses: a slice that never grows gives the same text",
  },
  {
    file: "src/kernel/request/exchange-request.ts",
    before: "call: originCall(intent, telemetry.trace, bytes.byteLength > 0),",
    after: "call: originCall(intent, telemetry.trace, bytes.byteLength > 1),",
    reason: "a request whose body has one byte has a body",
  },
  {
    file: "src/kernel/request/fingerprint.ts",
    before: 'return ["multipart", media];',
    after: 'return ["small", media];',
    reason: "any tag does that no other form of a body has",
  },
  {
    file: "src/kernel/request/well-known.ts",
    before: '"response-not-kept": { code: "response-not-kept", originalStatus: 200 },',
    after: '"response-not-kept": { code: "response-not-kept", originalStatus: 201 },',
    reason: "no evidence of an example is published",
  },
  {
    file: "src/kernel/request/token-auth.ts",
    before: "if (this.#failures.size > MAX_NETWORKS && oldest !== undefined) this.#failures.delete(oldest);",
    after: "if (this.#failures.size >= MAX_NETWORKS && oldest !== undefined) this.#failures.delete(oldest);",
    reason: "nothing promises the last network of a bounded memory",
  },
  {
    file: "src/kernel/encryption/encrypted-response.ts",
    before: "const VERSION = 1;",
    after: "const VERSION = 0;",
    reason: "whatever the number is, it is written and read alike",
  },
  {
    file: "src/kernel/store/bodies.ts",
    before: 'if (last + 1 >= MAX_BODIES) throw new Error("the shard has used up all numbers for bodies");',
    after: 'if (last + 1 > MAX_BODIES) throw new Error("the shard has used up all numbers for bodies");',
    reason: "no shard ever allots so many numbers",
  },
  {
    file: "src/kernel/object/kept-counts.ts",
    before: "export const EVERY_MS = 5000;",
    after: "export const EVERY_MS = 4999;",
    reason: "nothing promises the millisecond, and the tests read the constant",
  },
  {
    file: "src/kernel/object/attempt.ts",
    before: "const HEAD_WAIT_MS = 100;",
    after: "const HEAD_WAIT_MS = 99;",
    reason: "nothing promises the millisecond",
  },
  {
    file: "src/kernel/record/schedule.ts",
    before: "return durationMs(Math.round(Math.max(doubled, Math.min(retryAfterMs ?? 0, longestPauseMs))));",
    after: "return durationMs(Math.round(Math.max(doubled, Math.min(retryAfterMs ?? 1, longestPauseMs))));",
    reason: "the pause is never shorter than half of the first one, which is longer",
  },
  {
    file: "src/kernel/store/store-error.ts",
    before: 'this.name = "StoreError";',
    after: ";",
    reason: "nothing reads the name, and the log has the message",
  },
  {
    file: "src/kernel/object/reachability.ts",
    before: "const TRIALS = 3;",
    after: "const TRIALS = 2;",
    reason: "nothing promises the number of trials, only that there is more than one",
  },
  {
    file: "src/kernel/store/bodies.ts",
    before: "const MAX_BODIES = 2 ** (63 - KEY_BITS);",
    after: "const MAX_BODIES = 2 ** (64 - KEY_BITS);",
    reason: "no shard ever allots so many numbers",
  },
  {
    file: "src/kernel/record/alerts.ts",
    before: "export const REMIND_MS = durationMs(7 * 86_400_000);",
    after: "export const REMIND_MS = durationMs(7 * 86399999);",
    reason: "nothing promises the millisecond, and the tests read the constant",
  },
  {
    file: "src/kernel/object/kept-counts.ts",
    before: "const RETRY_MS = 60_000;",
    after: "const RETRY_MS = 60001;",
    reason: "nothing promises the millisecond, and the tests read the constant",
  },
  {
    file: "src/kernel/object/operator-calls.ts",
    before: "const IDLE_MS = 30_000;",
    after: "const IDLE_MS = 29999;",
    reason: "nothing promises the millisecond",
  },
  {
    file: "src/kernel/verify/state-path.ts",
    before: "if (!inPath && isInName(text.slice(split + 1, match.index)))",
    after: "if (!inPath && isInName(text.slice(split + 0, match.index)))",
    reason: "a question mark is no part of a parameter's name that changes whether it has a value",
  },
];

/** Why a change of these lines changes no behaviour; `null` if it may. */
export function equivalence(file: string, before: string, after: string): string | null {
  const found = EQUIVALENT.find((one) => one.file === file && one.before === before && one.after === after);
  return found?.reason ?? null;
}
