// Payloads and answers of any kind: bytes, not text.

import type { ConformanceCase, CaseObservation } from "../case.ts";
import {
  wholeAnswerOf,
  callCount,
  isRefused,
  isSame,
  firstVerdict,
  statusOf,
  replySucceeds,
  replySummary,
} from "../findings.ts";
import { headerValue } from "../http-response.ts";
import { mustCase, sendStep, twiceSteps } from "./define.ts";

/** Every byte there is, as Latin-1. */
export const ALL_BYTES = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte)).join("");

const LARGE_BYTES = 512 * 1024;
export const LARGE = "0123456789abcdef".repeat(LARGE_BYTES / 16);

/** `gzip -9n` of `{"zipped":true}`. */
export const GZIPPED = Buffer.from("H4sIAAAAAAACA6tWqsosKEhNUbIqKSpNrQUAhCi8CA8AAAA=", "base64").toString("latin1");

/** The answer came as the origin sent it. */
const arrives = (seen: CaseObservation, bytes: string) => () => {
  const answer = wholeAnswerOf(seen, "first");
  if (answer === null) return `the first request got ${replySummary(seen, "first")}`;
  return answer.body.toString("latin1") === bytes
    ? null
    : `the answer's ${bytes.length} bytes became ${answer.body.length}, or others`;
};

const EMPTY = [
  ["no-content", "204", { status: 204, pieces: [] }],
  ["empty", "200 without a byte", { status: 200, pieces: [] }],
] as const;

export const BYTES: readonly ConformanceCase[] = [
  mustCase({
    id: "bytes.request",
    says: "A binary payload reaches the application byte for byte.",
    profile: "P19",
    needs: ["origin"],
    script: [sendStep("first", { body: { bytes: ALL_BYTES } })],
    judge: (seen) =>
      firstVerdict(replySucceeds(seen, "first", "the request"), callCount(seen, 1), () =>
        seen.calls?.[0]?.body.toString("latin1") === ALL_BYTES ? null : "its bytes were changed on the way",
      ),
  }),
  mustCase({
    id: "bytes.compared",
    says: "Two payloads that differ only in bytes that are no UTF-8 are two payloads.",
    profile: "P10",
    needs: ["origin"],
    script: [sendStep("first", { body: { bytes: "\u00ff" } }), sendStep("again", { body: { bytes: "\u00fe" } })],
    judge: (seen) =>
      firstVerdict(replySucceeds(seen, "first", "the first request"), callCount(seen, 1), () =>
        isRefused(seen, "again") ? null : `the other payload got ${replySummary(seen, "again")}`,
      ),
  }),
  mustCase({
    id: "bytes.response",
    says: "A binary answer is passed on and replayed byte for byte.",
    profile: "P19",
    needs: ["origin"],
    origin: [{ headers: [["Content-Type", "application/octet-stream"]], pieces: [ALL_BYTES] }],
    script: twiceSteps,
    judge: (seen) =>
      firstVerdict(arrives(seen, ALL_BYTES), isSame(seen, "again", "first", "the retry"), callCount(seen, 1)),
  }),
  mustCase({
    id: "bytes.encoded",
    says: "An answer with a content coding is replayed with its coding and bytes.",
    profile: "P19",
    needs: ["origin"],
    origin: [
      {
        headers: [
          ["Content-Type", "application/json"],
          ["Content-Encoding", "gzip"],
        ],
        pieces: [GZIPPED],
      },
    ],
    script: [
      sendStep("first", { headers: [["Accept-Encoding", "gzip"]] }),
      sendStep("again", { headers: [["Accept-Encoding", "gzip"]] }),
    ],
    judge: (seen) =>
      firstVerdict(isSame(seen, "again", "first", "the retry"), callCount(seen, 1), () => {
        const [first, again] = ["first", "again"].map((name) =>
          headerValue(wholeAnswerOf(seen, name) ?? { headers: [] }, "content-encoding"),
        );
        if (first !== again) return `the first answer has the coding ${first ?? "none"}, the replay ${again ?? "none"}`;
        const bytes = wholeAnswerOf(seen, "first")?.body.toString("latin1");
        if (first === null)
          return bytes === '{"zipped":true}' ? null : "the answer has lost its coding, but not its coded bytes";
        return bytes === GZIPPED ? null : "the answer says that it is coded, and its bytes are not";
      }),
  }),
  ...EMPTY.map(([name, what, behaviour]) =>
    mustCase({
      id: `bytes.${name}`,
      says: `${what} is an answer too: it is replayed, and nothing is processed again.`,
      profile: "P19",
      needs: ["origin"],
      origin: [behaviour],
      script: twiceSteps,
      judge: (seen) =>
        firstVerdict(
          () =>
            statusOf(seen, "first") === behaviour.status
              ? null
              : `the first request got ${replySummary(seen, "first")}`,
          isSame(seen, "again", "first", "the retry"),
          callCount(seen, 1),
        ),
    }),
  ),
  mustCase({
    id: "bytes.large",
    says: "An answer of half a mebibyte is replayed byte for byte or, if it is not kept, refused. Nothing is processed again.",
    profile: "P19",
    needs: ["origin"],
    origin: [{ headers: [["Content-Type", "text/plain"]], pieces: [LARGE] }],
    script: twiceSteps,
    judge: (seen) =>
      firstVerdict(arrives(seen, LARGE), callCount(seen, 1), () =>
        isRefused(seen, "again") ? null : isSame(seen, "again", "first", "the retry")(),
      ),
  }),
];
