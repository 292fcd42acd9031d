// The action that tries a queue, as the Worker parses it. Imports nothing that needs the Worker.

import * as v from "valibot";

import { jsonBody, operatorAction } from "../../../operator/operator-action.ts";
import { refuseQuery } from "../../../operator/query.ts";
import { decodeBase64 } from "../../../operator/request-schema.ts";

const MESSAGE = 'Write the message: {"queue":"orders","body":…} with any JSON value, or "bodyBase64":"…" for bytes.';

export const queueTrial = operatorAction({
  word: "try-queue",
  path: "/queues/try",
  body: jsonBody(
    {
      queue: v.string("queue must be text, as QUEUES names it."),
      body: v.exactOptional(v.unknown()),
      bodyBase64: v.exactOptional(v.string("bodyBase64 must be text in base64.")),
    },
    '{"queue":"orders","body":{"id":"try-1"}}',
    ({ queue, bodyBase64, ...others }) => {
      // Any JSON value is a message; a member that is missing is no value.
      if ("body" in others === (bodyBase64 !== undefined)) return refuseQuery(MESSAGE);
      if (bodyBase64 === undefined) return { ok: true, value: { queue, message: others.body } };
      const message = decodeBase64(bodyBase64);
      return message === null ? refuseQuery("bodyBase64 is not base64.") : { ok: true, value: { queue, message } };
    },
  ),
  target: ({ queue }) => queue,
});
