// What the checker of turns takes for granted: the callers of the flooded route are in lanes of their own.

import { expect, it } from "vitest";
import { readConfig } from "../../../../src/features/settings.ts";
import { EncryptionDeriver } from "../../../../src/kernel/encryption/encryption.ts";
import { readExchange } from "../../../../src/kernel/request/exchange-request.ts";
import { intentReader } from "../../../../src/kernel/request/intent.ts";
import { noIdentities } from "../../../support/integration/no-identities.ts";
import { dimensionsWithout } from "../../../chaos/dimensions.ts";
import { addressHeaders, FLOODER, LANE_CALLERS } from "../../../chaos/callers.ts";
import { gatewayVars, TURNS_PATH } from "../../../chaos/routes.ts";

it("callers who take turns in chaos are in different lanes", async () => {
  const reading = readConfig(
    gatewayVars(
      "https://api.example.com",
      4,
      dimensionsWithout(["tokens", "claims", "deliveries", "observe", "signatures"]),
    ),
  );
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
  const readIntent = intentReader(reading.config, () => false);
  const ports = {
    proveCaller: noIdentities,
    encryptions: new EncryptionDeriver([]),
  };
  const laneOf = async (caller: string): Promise<number | undefined> => {
    const url = new URL(TURNS_PATH, "https://gateway.example");
    const addressed = Object.fromEntries(addressHeaders(TURNS_PATH, caller));
    const headers = { "Idempotency-Key": "k", Authorization: caller, ...addressed };
    const intent = readIntent(new Request(url, { method: "POST", headers, body: "{}" }), url);
    if (intent.kind !== "exchange") throw new Error(`it is ${intent.kind}`);
    const read = await readExchange(intent, { log: "none", serverTiming: false, trace: null }, ports);
    return read.kind === "exchange" ? read.exchange.head.record.lane : undefined;
  };
  const lanes = await Promise.all([FLOODER, ...LANE_CALLERS].map(laneOf));
  // Made-up credentials give it no other lane.
  expect(await laneOf(`${FLOODER} 2`)).toBe(lanes[0]);
  expect(lanes).not.toContain(undefined);
  expect(new Set(lanes).size).toBe(1 + LANE_CALLERS.length);
});
