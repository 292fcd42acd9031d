import { givenResponse } from "../given-response.ts";
import { jsonBody } from "../operator-action.ts";
import { givenResponseSchema, previewOrConfirm, reasonSchema } from "../request-schema.ts";
import { type ActionForm, type ActionTexts, REASON, REASON_MEMBERS, type RecordAction } from "./action.ts";

const OF_WAITING: ActionForm = {
  summary: "It took effect: give its client this response, and make no more attempts.",
  confirmation: "I checked in the API: it took effect. Monitor and retries give this response from now on.",
  button: "Preview",
  ...REASON,
};

const RESOLVE_BODY = jsonBody(
  {
    reason: reasonSchema,
    response: givenResponseSchema,
    ...previewOrConfirm,
  },
  '{"reason":"…","response":{"status":201,"headers":[],"body":""},"preview":true}',
  ({ reason, response, preview = false, confirm = false }) => {
    if (preview === confirm) {
      return {
        ok: false,
        reason:
          "Every retry would get this response. Write preview: true to see it, then confirm: true instead to give it.",
      };
    }
    const given = givenResponse(response);
    return given.ok ? { ok: true, value: { why: reason, response: given.value, isPreview: preview } } : given;
  },
);

export const resolveAction = {
  name: "resolve",
  why: "reason",
  takesResponse: true,
  body: RESOLVE_BODY,
  event({ by, why, response }) {
    if (response === null) throw new TypeError("resolve takes a response");
    return { type: "resolve", by, reason: why, status: response.status };
  },
  words: { title: "Resolve", past: "resolved" },
  form: {
    summary: "It took effect: give retries its response.",
    confirmation: "I checked in the API: it took effect. Every retry gets this response from now on.",
    button: "Preview",
    ...REASON,
  },
  formOf: ({ state }) => (state === "waiting" ? OF_WAITING : null),
  confirmAll: "I checked in the API: all of them took effect. Every retry gets this response from now on.",
} as const satisfies RecordAction;

export const resolveActionTexts: ActionTexts = {
  summary: "Settles a record with a response.",
  description:
    "States that the operation took effect, and with which response: retries get it from now on. For failed, unknown and waiting records. A response that contradicts itself is refused: a body that is not JSON under a JSON content-type, a body where the status allows none, one that is not encoded as content-encoding says, a header that may appear once but is given twice.",
  members: {
    ...REASON_MEMBERS,
    confirm: { description: "Give every retry this response: either this or preview is true.", example: true },
  },
  answer: "The record, now completed; with preview, what retries would get.",
};
