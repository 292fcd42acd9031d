// The setting `key_from`.

import { expect, it } from "vitest";

import { settingsOf } from "../../../kernel/unit/config/support.ts";

it.each([
  ["header:X-Key", "query:k", "form:k", "json:/a~1b/0", "cloudevent"],
  [["json:/a", "header:B"], { template: "order-{json:/id}:{header:X-Try}" }],
  [
    ["text:stripe", "json:/id"],
    ["text:events", "cloudevent"],
  ],
])("takes keys from %j, %j", (...sources) => {
  expect(settingsOf({ key_from: sources })).toMatchObject({ keyFrom: sources });
});
