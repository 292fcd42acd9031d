// Parses a request to change all records that a filter matches. The filter is that of the list, so whatever the list can find can be
// changed, and a filter that would match everything is refused.

import * as v from "valibot";

import type { EpochMs } from "../../../kernel/record/units.ts";
import { matchesAll } from "./change-all.ts";
import { actionNamed } from "../../../operator/record-actions/record-actions.ts";
import { givenResponse } from "../../../operator/given-response.ts";
import { parseListRequest } from "../../../operator/list-request.ts";
import type { AllChange } from "./all-change.ts";
import { changeAllSchema } from "./all-request-schema.ts";
import { type ParsedRequest, parsePreviewStep } from "../../../operator/request-schema.ts";

const NO_STEP =
  "All records that match would be changed. Write preview: true to count them, then confirm: true and until from its answer to change them.";

export function parseChangeAll(json: unknown, now: EpochMs): ParsedRequest<Omit<AllChange, "by">> {
  const read = v.safeParse(changeAllSchema, json);
  if (!read.success) return refuse(read.issues[0].message);
  const { change: action, filter: written, reason, response: given, cursor = null, ...steps } = read.output;
  const step = parsePreviewStep(steps, now, NO_STEP, cursor !== null);
  if (!step.ok) return step;
  const { isPreview, until } = step.value;
  if ("limit" in written || "cursor" in written)
    return refuse("filter has conditions only: leave limit and cursor out.");
  // Durations count from the preview, so that each call means the same records.
  const listed = parseListRequest(new URLSearchParams(written), until);
  if (!listed.ok) return refuse(`filter: ${listed.reason}`);
  const { filter } = listed.value;
  if (matchesAll(filter, until)) {
    return refuse(
      'filter would match every record, or all but those of the last minute. Write at least one condition that leaves others out: {"state":"unknown"}, {"route":"/v1/payments"}, {"until":"1h"}.',
    );
  }
  const { takesResponse } = actionNamed(action);
  if (takesResponse !== (given !== undefined)) {
    return refuse(
      takesResponse
        ? 'resolve needs the response that each of them is given: write "response":{"status":201,"body":"…"}.'
        : "response is only for resolve: leave it out.",
    );
  }
  const response = given === undefined ? null : givenResponse(given);
  if (response?.ok === false) return response;
  const asked = { action, reason, response: response?.value ?? null, filter, written, until, isPreview, cursor };
  return { ok: true, value: asked };
}

function refuse(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}
