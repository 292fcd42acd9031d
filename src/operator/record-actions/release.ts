import { type ActionForm, type ActionTexts, REASON, REASON_BODY, REASON_MEMBERS, type RecordAction } from "./action.ts";

const OF_WAITING: ActionForm = {
  summary: "Try it as soon as possible.",
  confirmation: "The gateway sends the request without waiting for the pause, and counts its attempts anew.",
  button: "Release the request",
  ...REASON,
};

const OF_ACCEPTED: ActionForm = {
  summary: "It did not take effect: the request will be tried by the gateway.",
  confirmation: "I checked in the API: it did not take effect. The gateway sends the stored request again by itself.",
  button: "Release the request",
  ...REASON,
};

export const releaseAction = {
  name: "release",
  why: "reason",
  takesResponse: false,
  body: REASON_BODY,
  event: ({ by, why }) => ({ type: "release", by, reason: why }),
  words: { title: "Release", past: "released" },
  form: {
    summary: "It did not take effect: let the next request try again.",
    confirmation: "I checked in the API: it did not take effect. The next request calls the API again.",
    button: "Release the key",
    ...REASON,
  },
  formOf: ({ state, accepted }) => (state === "waiting" ? OF_WAITING : accepted ? OF_ACCEPTED : null),
  confirmAll:
    "I checked in the API: none of them took effect. Each key's next request calls the API again. Requests that were answered 202 are sent now, without their client.",
} as const satisfies RecordAction;

export const releaseActionTexts: ActionTexts = {
  summary: "Lets the next request with a key try again.",
  description:
    "States that the operation did not take effect: the next request with this key starts a new attempt. For failed, unknown and waiting records. Attempts never overlap: the next one starts when the last one's lock has ended. A request that the gateway has accepted is tried by the gateway as soon as possible.",
  members: REASON_MEMBERS,
  answer: "The record, now failed; of an accepted request, waiting.",
};
