// ACP's rules about keys: what they are, whose they are, and which requests are equal (rfcs/rfc.agentic_checkout.md, 6.1, 6.2, 6.7).

import type { ConformanceCase } from "../case.ts";
import {
  areTwoOperations,
  callCount,
  firstVerdict,
  isOneOperation,
  replySucceeds,
  wholeAnswerOf,
} from "../findings.ts";
import { headerValue } from "../http-response.ts";
import { mustCase, sendStep } from "./define.ts";
import { bodyPair, isAcpError, isAcpReuse } from "./commerce-findings.ts";

export const ACP_KEYS: readonly ConformanceCase[] = [
  mustCase({
    id: "key.echo",
    says: "An answer repeats the request's key.",
    profile: "6.3",
    script: [sendStep("first", { key: ["{key}"] })],
    judge: (seen) =>
      firstVerdict(replySucceeds(seen, "first", "the request"), () => {
        const answer = wholeAnswerOf(seen, "first");
        const echo = answer === null ? null : headerValue(answer, "idempotency-key");
        return echo === null ? "the answer has no Idempotency-Key" : null;
      }),
  }),
  mustCase({
    id: "key.required",
    says: "A POST without a key gets 400 with the protocol's error, and is not processed.",
    profile: "6.1",
    script: [sendStep("first", { key: null })],
    judge: (seen) => firstVerdict(isAcpError(seen, "first", 400, "idempotency_key_required"), callCount(seen, 0)),
  }),
  mustCase({
    id: "key.255",
    says: "A key is opaque and may have 255 characters.",
    profile: "6.1",
    script: [
      sendStep("first", { key: [`{key}${"k!~".repeat(73)}`] }),
      sendStep("again", { key: [`{key}${"k!~".repeat(73)}`] }),
    ],
    judge: isOneOperation,
  }),
  ...(
    [
      ["equal.order", "The order of members does not count.", '{"a":1,"b":[1,2]}', '{ "b" : [1,2], "a": 1 }'],
      ["equal.number", "1.0 and 1 are the same number.", '{"a":1.0}', '{"a":1}'],
    ] as const
  ).map(([id, says, one, other]) =>
    mustCase({ id, says, profile: "6.2", needs: ["origin"], script: bodyPair(one, other), judge: isOneOperation }),
  ),
  mustCase({
    id: "equal.headers",
    says: "Other headers make no other request.",
    profile: "6.2",
    script: [
      sendStep("first"),
      sendStep("again", {
        headers: [
          ["Request-Id", "another"],
          ["Traceparent", "00-1"],
        ],
      }),
    ],
    judge: isOneOperation,
  }),
  ...(
    [
      ["equal.null", "null and an absent member are different.", '{"a":1,"b":null}', '{"a":1}'],
      ["equal.array", "The order of an array counts.", '{"a":[1,2]}', '{"a":[2,1]}'],
      ["equal.extension", "A member of an extension counts.", '{"a":1}', '{"a":1,"x_extension":{"on":true}}'],
    ] as const
  ).map(([id, says, one, other]) =>
    mustCase({
      id,
      says,
      profile: id === "equal.extension" ? "6.7" : "6.2",
      needs: ["origin"],
      script: bodyPair(one, other),
      judge: isAcpReuse,
    }),
  ),
  mustCase({
    id: "scope.path",
    says: "The same key on another endpoint is another operation.",
    profile: "6.1",
    needs: ["other-path"],
    script: [sendStep("first"), sendStep("again", { path: "other" })],
    judge: areTwoOperations,
  }),
  mustCase({
    id: "scope.session",
    says: "The same key in another session is another operation.",
    profile: "6.1",
    needs: ["origin"],
    script: [sendStep("first", { path: { below: "one" } }), sendStep("again", { path: { below: "two" } })],
    judge: areTwoOperations,
  }),
  mustCase({
    id: "scope.identity",
    says: "The same key of another caller is another operation.",
    profile: "6.1",
    needs: ["other-caller"],
    script: [sendStep("first"), sendStep("again", { caller: "other" })],
    judge: areTwoOperations,
  }),
];
