// The Universal Commerce Protocol's rules about who sends a request: docs/specification/signatures.md, and overview/index.md, Identity Resolution. A client is the
// platform whose key has signed, whichever of its keys that is.

import type { ConformanceCase } from "../case.ts";
import { areTwoOperations, callCount, firstVerdict, isOneOperation } from "../findings.ts";
import type { RequestSigning } from "../platforms.ts";
import { mustCase, sendStep } from "./define.ts";
import { isUcpError, UCP_REPLAYS } from "./commerce-findings.ts";

const RESOLUTION = "Identity Resolution";
const ERRORS = "Signature-specific errors";

const signedBy = (signing: Partial<RequestSigning> = {}): { readonly sign: Partial<RequestSigning> } => ({
  sign: signing,
});

const refused = (id: string, says: string, sign: Partial<RequestSigning> | null, status: number, code: string) =>
  mustCase({
    needs: ["signed"],
    id,
    says,
    profile: ERRORS,
    script: [sendStep("first", { sign })],
    judge: (seen) => firstVerdict(isUcpError(seen, "first", status, code), callCount(seen, 0)),
  });

export const UCP_SIGNATURES: readonly ConformanceCase[] = [
  mustCase({
    needs: ["signed"],
    id: "sign.client",
    says: "The same key of another platform is another operation, also where nothing but the signature differs.",
    profile: UCP_REPLAYS,
    script: [sendStep("first", signedBy()), sendStep("again", signedBy({ as: "other" }))],
    judge: areTwoOperations,
  }),
  mustCase({
    needs: ["signed"],
    id: "sign.again",
    says: "A retry that is signed anew is the same request.",
    profile: UCP_REPLAYS,
    script: [sendStep("first", signedBy()), sendStep("again", signedBy())],
    judge: isOneOperation,
  }),
  mustCase({
    needs: ["signed"],
    id: "sign.rotated",
    says: "So is one that is signed with another key of the platform.",
    profile: RESOLUTION,
    script: [sendStep("first", signedBy()), sendStep("again", signedBy({ key: "second" }))],
    judge: isOneOperation,
  }),
  mustCase({
    needs: ["signed"],
    id: "sign.wba",
    says: "A signature of Web Bot Auth shows its agent as well, whichever of its keys has signed.",
    profile: RESOLUTION,
    script: [
      sendStep("first", signedBy({ how: "web-bot-auth" })),
      sendStep("again", signedBy({ how: "web-bot-auth", key: "second" })),
    ],
    judge: isOneOperation,
  }),
  refused(
    "sign.missing",
    "A request without a signature gets 401, and is not processed.",
    null,
    401,
    "signature_missing",
  ),
  refused(
    "sign.digest",
    "One whose body is not the signed one gets 400.",
    { how: "other-digest" },
    400,
    "digest_mismatch",
  ),
  refused(
    "sign.coverage",
    "One whose signature leaves out its key gets 401: anybody could have changed that.",
    { how: "uncovered" },
    401,
    "signature_invalid",
  ),
];
