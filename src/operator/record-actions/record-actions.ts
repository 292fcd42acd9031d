// All actions on records, in the order in which they are offered. A new one is a file beside this one, and its lines here.

import { forgetAction, forgetActionTexts } from "./forget.ts";
import { noteAction, noteActionTexts } from "./note.ts";
import { releaseAction, releaseActionTexts } from "./release.ts";
import { resolveAction, resolveActionTexts } from "./resolve.ts";
import type { ActionForm, ActionSubject, ActionTexts, RecordAction } from "./action.ts";

export const ACTIONS = {
  release: releaseAction,
  resolve: resolveAction,
  forget: forgetAction,
  note: noteAction,
} as const;

export type RecordActionName = keyof typeof ACTIONS;

/** Read by Node alone. */
export const ACTION_TEXTS: Readonly<Record<RecordActionName, ActionTexts>> = {
  release: releaseActionTexts,
  resolve: resolveActionTexts,
  forget: forgetActionTexts,
  note: noteActionTexts,
};

export const RECORD_ACTIONS: readonly RecordAction<RecordActionName>[] = Object.values(ACTIONS);

export const ACTION_NAMES: readonly RecordActionName[] = RECORD_ACTIONS.map(({ name }) => name);

export function actionNamed(name: RecordActionName): RecordAction<RecordActionName> {
  return ACTIONS[name];
}

/** What the form of an action says of a record. */
export function formText(name: RecordActionName, record: ActionSubject): ActionForm {
  const { form, formOf } = actionNamed(name);
  return formOf?.(record) ?? form;
}
