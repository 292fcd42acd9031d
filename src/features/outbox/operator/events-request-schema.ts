// The query of events, and the actions on them, as the Worker parses them. The command line uses the name's form too. Imports nothing that needs the Worker.

import * as v from "valibot";

import { EVENT_STATES } from "../../../kernel/record/outbox.ts";
import { type AskedOf, jsonBody, operatorAction } from "../../../operator/operator-action.ts";
import { PAGE_QUERY, refuseQuery, textLike, wordOf } from "../../../operator/query.ts";
import { previewOrConfirm, reasonSchema } from "../../../operator/request-schema.ts";

/** As in the configuration. */
export const DESTINATION_NAME = /^(?:dead-letters:)?[A-Za-z0-9_-]{1,64}$/;

/** Of the list. */
export const EVENTS_QUERY = {
  state: wordOf("state", EVENT_STATES),
  destination: textLike(DESTINATION_NAME, "destination must be the name of a destination, as the list gives it."),
  ...PAGE_QUERY,
};

const ONE_EVENT = "event must name an event as the list does: its shard, place and id.";
/** More than any id of an event has; it travels to the shard in a header. */
const eventMember = v.pipe(v.string(ONE_EVENT), v.maxLength(2000, ONE_EVENT));

/** One event, or all of a destination. */
const CHANGE_BODY = jsonBody(
  {
    destination: v.pipe(
      v.string('destination must be text: write {"destination":"billing","reason":"…","preview":true}.'),
      v.regex(DESTINATION_NAME, "destination must be the name of a destination, as the list gives it."),
    ),
    reason: reasonSchema,
    event: v.exactOptional(v.strictObject({ shard: eventMember, place: eventMember, id: eventMember }, ONE_EVENT)),
    state: v.exactOptional(v.picklist(EVENT_STATES, `state must be one of ${EVENT_STATES.join(", ")}.`)),
    ...previewOrConfirm,
  },
  '{"destination":"billing","reason":"…","preview":true}',
  ({ destination, reason, event = null, state = null, preview: isPreview = false, confirm = false }) => {
    if (event === null && isPreview === confirm) {
      return refuseQuery(
        "All events of the destination would be changed. Write preview: true to count them, then confirm: true instead to change them.",
      );
    }
    if (event !== null && (state !== null || isPreview)) {
      return refuseQuery("event names one event: leave state and preview out.");
    }
    return { ok: true, value: { destination, reason, event, state, isPreview } };
  },
);

export const resendEvents = eventsAction("resend");
export const dropEvents = eventsAction("drop");

function eventsAction<const Word extends string>(word: Word) {
  const action = operatorAction({
    word,
    path: `/outbox/${word}`,
    body: CHANGE_BODY,
    target: ({ destination, event }) => `${destination}${event === null ? "" : ` ${event.id}`}`,
  });
  return { ...action, word };
}

export type EventsChange = AskedOf<typeof resendEvents>;
