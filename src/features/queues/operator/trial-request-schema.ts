// The request to try a queue, as the Worker parses it. Imports nothing that needs the Worker.

import * as v from "valibot";

const TRIAL = 'The body must be JSON: write {"body":…} with any JSON value, or {"bodyBase64":"…"} for bytes.';

/** Any JSON value is a message; a member that is missing is no value. */
export const queueTrialSchema = v.union(
  [v.strictObject({ body: v.unknown() }), v.strictObject({ bodyBase64: v.string(TRIAL) })],
  TRIAL,
);
