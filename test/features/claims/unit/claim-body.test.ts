import { expect, it } from "vitest";
import { readWishes } from "../../../../src/features/claims/claim-body.ts";

const LIMITS = { maxLockMs: 60_000, maxKeyLength: 255 };

function read(previous: number | null, offset: number): unknown {
  const position = { stream: "orders", partition: 0, offset, previous };
  const claim = { key: "order-1", attemptId: "0123456789abcdef", payloadHash: "sha", position };
  return readWishes("claim", { claims: [claim] }, LIMITS);
}

it.each([
  [null, 0, true],
  [0, 1, true],
  [6, 7, true],
  [7, 7, false],
  [8, 7, false],
  [0, 0, false],
])("a message whose predecessor has the offset %s has a larger one than that: %d, %s", (previous, offset, ok) => {
  const reason = "claims[0].position.previous must be below offset: the message before it.";
  expect(read(previous, offset)).toMatchObject(ok ? { ok } : { ok, reason });
});
