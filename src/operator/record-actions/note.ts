import { jsonBody } from "../operator-action.ts";
import { whyText } from "../request-schema.ts";
import { type ActionTexts, PREVIEW, type RecordAction } from "./action.ts";

export const noteAction = {
  name: "note",
  why: "text",
  takesResponse: false,
  body: jsonBody({ text: whyText("text"), preview: PREVIEW }, '{"text":"…"}', ({ text, preview = false }) => ({
    ok: true,
    value: { why: text, response: null, isPreview: preview },
  })),
  event: ({ by, why }) => ({ type: "note", by, text: why }),
  words: { title: "Note", past: "noted" },
  form: {
    summary: "Write something down.",
    confirmation: null,
    button: "Add the note",
    label: "Note",
    hint: "For whoever looks at this record next.",
  },
  confirmAll: null,
} as const satisfies RecordAction;

export const noteActionTexts: ActionTexts = {
  summary: "Writes something down in a record's timeline.",
  description:
    "Decides nothing, so it is possible in every state, also while an attempt is in flight. The last ten notes are kept.",
  members: { text: { description: "What is written down.", example: "Asked the bank, ticket 4711." } },
  answer: "The record.",
};
