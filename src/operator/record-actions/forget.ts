import { type ActionForm, type ActionTexts, REASON, REASON_BODY, REASON_MEMBERS, type RecordAction } from "./action.ts";

const OF_WAITING: ActionForm = {
  summary: "Cancel the request.",
  confirmation:
    "The gateway does not send the request any more. Its monitor answers 404, and the next request with this key counts as a first request.",
  button: "Cancel the request",
  ...REASON,
};

export const forgetAction = {
  name: "forget",
  why: "reason",
  takesResponse: false,
  body: REASON_BODY,
  event: ({ by, why }) => ({ type: "forget", by, reason: why }),
  words: { title: "Forget", past: "forgotten" },
  form: {
    summary: "Erase the record.",
    confirmation: "The next request with this key counts as a first request and reaches the origin.",
    button: "Forget the record",
    ...REASON,
  },
  formOf: ({ state }) => (state === "waiting" ? OF_WAITING : null),
  confirmAll: "All these records are erased, and what waits is cancelled. Their keys count as new.",
} as const satisfies RecordAction;

export const forgetActionTexts: ActionTexts = {
  summary: "Erases a record.",
  description:
    "Erases a record with its response: the next request with this key counts as a first request and calls the origin. A request that waits for its next attempt is cancelled. Refused while an attempt may still be running. The log keeps the reason. For up to 30 seconds some Workers may still replay a completed record from their memory.",
  members: REASON_MEMBERS,
  answer: "The record is erased; with preview, the record, which is not.",
};
