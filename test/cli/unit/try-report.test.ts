// What `onceway try` prints above its diagnosis.

import { expect, it } from "vitest";
import { trialText } from "../../../src/cli/try-report.ts";

function keyLine(echo: string): string | undefined {
  const answer = {
    status: 200,
    statusText: "OK",
    headers: [["Idempotency-Key", echo]] as const,
    body: Buffer.from(""),
    durationMs: 1,
  };
  const diagnosis = { code: "protected", works: true, happened: ["Replayed."], advice: null } as const;
  const trial = { method: "POST", url: "https://api.acme.com/", key: "sent", answers: [answer], diagnosis };
  return trialText(trial, { width: 80, paint: (_style, text) => text }).split("\n")[1];
}

it("names the key that counts: the one that was sent, or the one that the gateway found elsewhere", () => {
  expect(keyLine("sent")).toBe("key sent");
  expect(keyLine("(stripe:evt_1)")).toBe("key (stripe:evt_1), from the request itself");
});
