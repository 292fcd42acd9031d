// The setting `graphql`.

import { expect, it } from "vitest";

import { settingsOf } from "../../../kernel/unit/config/support.ts";

it("looks for keys in the directive last", () => {
  const keyFrom = ["query:k", "graphql:@idempotent"];
  expect(settingsOf({ key_from: ["query:k"], graphql: true })).toMatchObject({ graphql: true, keyFrom });
  expect(settingsOf({ key_from: ["query:k"] })).toMatchObject({ graphql: false, keyFrom: ["query:k"] });
});
