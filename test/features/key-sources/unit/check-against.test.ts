// What `onceway check --against` says of other places of the key.

import { describe, expect, it } from "vitest";
import type { GatewayComparison } from "../../../../src/cli/check-against.ts";
import { compareToPay, FINE } from "../../../support/running-gateway.ts";

describe("where the keys come from", () => {
  const keyFrom = ["header:x-order", "json:/id"];
  const compared = (settings: object): GatewayComparison => compareToPay(settings, { keyFrom });

  it("is warned of when a place is left out, and not when one is added or written in another case", () => {
    expect(compared({ key_from: ["header:X-Order", "form:id", "json:/id"] })).toEqual(FINE);
    expect(compared({ key_from: ["json:/id"] })).toEqual({
      problems: [],
      warnings: [
        {
          path: "ROUTES[0].key_from",
          message:
            "no longer takes keys from header:x-order, as the gateway that runs does: requests that were sent with such a key are not recognized when they come again",
        },
      ],
    });
    expect(compared({ key_from: [["header:X-Order", "json:/id"]] }).warnings).toHaveLength(2);
  });
});
