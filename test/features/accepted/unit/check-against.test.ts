// What `onceway check --against` says when a route no longer accepts requests.

import { describe, expect, it } from "vitest";
import type { GatewayComparison } from "../../../../src/cli/check-against.ts";
import { compareToPay, FINE } from "../../../support/running-gateway.ts";

describe("a route that no longer accepts requests", () => {
  const compared = (async: string, before: string): GatewayComparison => compareToPay({ async }, { async: before });

  it("is warned of, and not one that accepts others than before", () => {
    for (const before of ["prefer", "always"] as const) {
      expect(compared("never", before)).toEqual({
        problems: [],
        warnings: [
          {
            path: "ROUTES[0].async",
            message: `is "never", while async = "${before}" is in force: requests that were accepted are still tried, but nobody can read their monitors or cancel them. Leave it until none of them waits`,
          },
        ],
      });
      expect(compared("prefer", before)).toEqual(FINE);
    }
    expect(compared("never", "never")).toEqual(FINE);
  });
});
