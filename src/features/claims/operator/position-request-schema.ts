// The query of positions, and the action that sets one, as the Worker parses them. The command line uses the name's form too. Imports nothing that needs the Worker.

import * as v from "valibot";

import { PAGE_QUERY, textLike } from "../../../operator/query.ts";
import { type AskedOf, jsonBody, operatorAction } from "../../../operator/operator-action.ts";
import { reasonSchema } from "../../../operator/request-schema.ts";

/** As in the configuration. */
export const GROUP_NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Of the list. */
export const POSITIONS_QUERY = {
  group: textLike(GROUP_NAME, "group must be the name of a group, as the list gives it."),
  ...PAGE_QUERY,
};

const whole = (name: string, max: number) => {
  const message = `${name} must be a whole number from 0 to ${max}.`;
  return v.pipe(v.number(message), v.integer(message), v.minValue(0, message), v.maxValue(max, message));
};

const STREAM = "stream must be the name of a stream, as the list gives it.";

export const setPosition = operatorAction({
  word: "set-position",
  path: "/positions/set",
  body: jsonBody(
    {
      group: v.pipe(v.string("group must be text."), v.regex(GROUP_NAME, "group must be the name of a group.")),
      stream: v.pipe(v.string(STREAM), v.regex(/^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/, STREAM)),
      partition: whole("partition", 2 ** 31 - 1),
      next: whole("next", Number.MAX_SAFE_INTEGER - 1),
      reason: reasonSchema,
    },
    '{"group":"billing","stream":"orders","partition":3,"next":42,"reason":"…"}',
    (value) => ({ ok: true, value }),
  ),
  target: ({ group, stream, partition, next }) => `${group} ${stream}/${partition}: ${next}`,
});

export type RequestedPosition = AskedOf<typeof setPosition>;
