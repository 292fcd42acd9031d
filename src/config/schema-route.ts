// The schema of one `[[vars.ROUTES]]`: a path, and whatever settings it has of its own.

import * as v from "valibot";

import { parsePathPattern } from "./path-pattern.ts";
import { settingsEntries } from "./schema.ts";
import { parsed } from "./schema-members.ts";

/** A route's path; checked against the patterns that Hono's routers agree on. */
export const pathSchema = v.pipe(
  v.string('must be text: write path = "/v1/payments/*"'),
  v.metadata({
    pattern: "^/",
    examples: ["/v1/payments/*", "/v1/orders/:id"],
  }),
  parsed((path: string) => {
    const patterns = parsePathPattern(path);
    return patterns.ok ? { ok: true, value: { path, patterns: patterns.value } } : patterns;
  }),
);

/** One `[[vars.ROUTES]]`. */
export const routeSchema = v.strictObject({ path: pathSchema, ...settingsEntries });
