// The setting `key_from`, and what clients are told of it.

import { expect, it } from "vitest";

import { wellKnownResponse } from "../../../../src/kernel/request/well-known.ts";
import { configOf, settingsOf } from "../../../kernel/unit/config/support.ts";

it.each([
  ["header:X-Key", "query:k", "form:k", "json:/a~1b/0", "cloudevent"],
  [["json:/a", "header:B"], { template: "order-{json:/id}:{header:X-Try}" }],
  [
    ["text:stripe", "json:/id"],
    ["text:events", "cloudevent"],
  ],
])("takes keys from %j, %j, and publishes it", async (...sources) => {
  expect(settingsOf({ key_from: sources })).toMatchObject({ keyFrom: sources });
  const policy: unknown = await wellKnownResponse(configOf({ ROUTES: [{ path: "/pay", key_from: sources }] })).json();
  expect(policy).toMatchObject({ routes: [{ key: { from: sources } }] });
});
