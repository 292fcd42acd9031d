// What the forms say about a change. For an accepted request, which the gateway sends by itself, changes mean something else.

import type { OperatorChange } from "../../kernel/record/timeline.ts";
import type { RecordDetail } from "../operator.ts";

export interface ChangeText {
  /** Beside the title. */
  readonly summary: string;
  /** Beside the box that has to be ticked. */
  readonly confirmation: string;
  readonly button: string;
}

const TEXTS: Readonly<Record<OperatorChange, ChangeText>> = {
  resolve: {
    summary: "It took effect: give retries its response.",
    confirmation: "I checked in the API: it took effect. Every retry gets this response from now on.",
    button: "Preview",
  },
  release: {
    summary: "It did not take effect: let the next request try again.",
    confirmation: "I checked in the API: it did not take effect. The next request calls the API again.",
    button: "Release the key",
  },
  forget: {
    summary: "Erase the record.",
    confirmation: "The next request with this key counts as a first request and reaches the origin.",
    button: "Forget the record",
  },
};

const OF_WAITING: Readonly<Record<OperatorChange, ChangeText>> = {
  resolve: {
    summary: "It took effect: give its client this response, and make no more attempts.",
    confirmation: "I checked in the API: it took effect. Monitor and retries give this response from now on.",
    button: "Preview",
  },
  release: {
    summary: "Try it as soon as possible.",
    confirmation: "The gateway sends the request without waiting for the pause, and counts its attempts anew.",
    button: "Release the request",
  },
  forget: {
    summary: "Cancel the request.",
    confirmation:
      "The gateway does not send the request any more. Its monitor answers 404, and the next request with this key counts as a first request.",
    button: "Cancel the request",
  },
};

const RELEASE_OF_ACCEPTED: ChangeText = {
  summary: "It did not take effect: the request will be tried by the gateway.",
  confirmation: "I checked in the API: it did not take effect. The gateway sends the stored request again by itself.",
  button: "Release the request",
};

export function changeText(
  action: OperatorChange,
  { state, accepted }: Pick<RecordDetail, "state" | "accepted">,
): ChangeText {
  if (state === "waiting") return OF_WAITING[action];
  return action === "release" && accepted ? RELEASE_OF_ACCEPTED : TEXTS[action];
}
