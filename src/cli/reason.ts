// The option `--reason` of what changes records: a script has to write it, and on a terminal it is asked for.

import { askText, openDialogue } from "./ask.ts";
import { CommandFailure, EXIT_UNUSABLE } from "./exit-codes.ts";

export const REASON_OPTION = ["--reason <TEXT>", "why; it is kept (asked for on a terminal)"] as const;

export interface ReasonOptions {
  readonly reason?: string;
}

/** Checked before the first question and the first call, so that a script fails at once. */
export function checkReason({ reason = "" }: ReasonOptions): void {
  if (reason.trim() === "" && openDialogue() === null)
    throw new CommandFailure(EXIT_UNUSABLE, 'Missing --reason: write --reason "…"; the record keeps it.');
}

/** Asks for it on a terminal. */
export async function readReason(options: ReasonOptions): Promise<string> {
  checkReason(options);
  const given = options.reason?.trim() ?? "";
  const dialogue = openDialogue();
  if (given !== "" || dialogue === null) return given;
  return (await askText(dialogue, { message: "Why?", validate: reasonProblem })).trim();
}

function reasonProblem(value: string | undefined): string | undefined {
  return (value ?? "").trim() === "" ? "Write a few words: the record keeps them." : undefined;
}
