// Why something is changed: a script has to write it, and on a terminal it is asked for.

import { askText, openDialogue } from "./ask.ts";
import { CommandFailure, EXIT_UNUSABLE } from "./exit-codes.ts";

export const REASON_OPTION = ["--reason <TEXT>", "why; it is kept (asked for on a terminal)"] as const;

/** The options that say why, by their names. */
export interface ReasonOptions {
  readonly reason?: string;
  readonly text?: string;
}

type ReasonName = keyof ReasonOptions;

/** Checked before the first question and the first call, so that a script fails at once. */
export function checkReason(options: ReasonOptions, name: ReasonName = "reason"): void {
  if ((options[name] ?? "").trim() === "" && openDialogue() === null)
    throw new CommandFailure(EXIT_UNUSABLE, `Missing --${name}: write --${name} "…"; the record keeps it.`);
}

/** Asks for it on a terminal. */
export async function readReason(options: ReasonOptions, name: ReasonName = "reason"): Promise<string> {
  checkReason(options, name);
  const given = options[name]?.trim() ?? "";
  const dialogue = openDialogue();
  if (given !== "" || dialogue === null) return given;
  return (await askText(dialogue, { message: name === "text" ? "What?" : "Why?", validate: reasonProblem })).trim();
}

function reasonProblem(value: string | undefined): string | undefined {
  return (value ?? "").trim() === "" ? "Write a few words: the record keeps them." : undefined;
}
