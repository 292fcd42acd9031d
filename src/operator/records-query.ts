// The query of the list of records, as the Worker parses it. Imports nothing that needs the Worker.

import * as v from "valibot";

import { CALLER_DIGITS } from "../kernel/record/request-note.ts";
import { epochMs } from "../kernel/record/units.ts";
import { parseMoment } from "./list-texts.ts";
import { PAGE_QUERY, shortText, textLike } from "./query.ts";
import { ID_PREFIX, LIST_LIMITS, RECORD_STATES } from "./request-schema.ts";

const { maxRouteLength, maxKeyLength } = LIST_LIMITS;
const STATE = `state must be one or more of ${RECORD_STATES.join(", ")}, separated by commas.`;

/** A time, or how long ago: as text, because only the request knows the time. */
function moment(name: "since" | "until") {
  const message = `${name} must be a time or a duration ago: write "2026-11-23T08:30:00Z", "5m" or "24h".`;
  return v.exactOptional(
    v.pipe(
      v.string(),
      v.check((text) => parseMoment(text, epochMs(Date.now())) !== null, message),
    ),
  );
}

export const RECORDS_QUERY = {
  state: v.exactOptional(
    v.pipe(
      v.string(),
      v.transform((text) => text.split(",")),
      v.array(v.picklist(RECORD_STATES, STATE)),
      v.transform((words) => RECORD_STATES.filter((state) => words.includes(state))),
    ),
  ),
  route: shortText(
    maxRouteLength,
    `route must be the path of a route as configured, of at most ${maxRouteLength} characters.`,
  ),
  since: moment("since"),
  until: moment("until"),
  key: shortText(maxKeyLength, `key must be an idempotency key: 1 to ${maxKeyLength} characters, without quotes.`),
  id: textLike(ID_PREFIX, "id must be the first 8 to 64 digits (0-9, a-f) of a record's id."),
  caller: textLike(
    new RegExp(`^[0-9a-f]{${CALLER_DIGITS}}$`),
    `caller must be the ${CALLER_DIGITS} digits (0-9, a-f) that records show for it.`,
  ),
  status: v.exactOptional(
    v.pipe(v.string(), v.regex(/^[1-5]\d\d$/, "status must be an HTTP status: write 201."), v.transform(Number)),
  ),
  ...PAGE_QUERY,
};
