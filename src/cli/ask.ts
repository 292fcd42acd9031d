// Questions to the person at the terminal. They go to stderr, so that stdout contains only the result. The library
// that asks is read when a question is: most commands ask none.

import type { Readable, Writable } from "node:stream";

import type { SelectOptions, TextOptions } from "@clack/prompts";

import { CommandFailure, EXIT_UNUSABLE } from "./exit-codes.ts";

export interface TerminalDialogue {
  readonly input: Readable;
  readonly output: Writable;
}

/** Null without a terminal: in a script or a pipe. */
export function openDialogue(): TerminalDialogue | null {
  return process.stdin.isTTY && process.stderr.isTTY ? { input: process.stdin, output: process.stderr } : null;
}

export async function askText(dialogue: TerminalDialogue, options: TextOptions): Promise<string> {
  const { isCancel, text } = await import("@clack/prompts");
  const answer = await text({ ...options, ...dialogue });
  if (isCancel(answer)) throw cancelled();
  return answer;
}

/** What is typed is not shown. */
export async function askSecret(dialogue: TerminalDialogue, message: string): Promise<string> {
  const { isCancel, password } = await import("@clack/prompts");
  const answer = await password({ message, ...dialogue });
  if (isCancel(answer)) throw cancelled();
  return answer;
}

export async function askChoice<T extends string>(dialogue: TerminalDialogue, options: SelectOptions<T>): Promise<T> {
  const { isCancel, select } = await import("@clack/prompts");
  const answer = await select<T>({ ...options, ...dialogue });
  if (isCancel(answer)) throw cancelled();
  return answer;
}

/** Enter alone means no, unless `usual` says yes: only where nothing is lost by it. */
export async function askYes(dialogue: TerminalDialogue, message: string, usual = false): Promise<boolean> {
  const { isCancel, confirm } = await import("@clack/prompts");
  const answer = await confirm({ message, initialValue: usual, ...dialogue });
  if (isCancel(answer)) throw cancelled();
  return answer;
}

/** Of a change that is previewed before it is made. */
export interface PreviewOptions {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** Before the first call, so that a script fails at once: it has to say whether it wants the preview or the change. `isComplete`: --yes has what it needs. */
export function checkPreview({ dryRun, yes }: PreviewOptions, remedy: string, isComplete = true): void {
  const isClear = dryRun === true || (yes === true ? isComplete : openDialogue() !== null);
  if (!isClear) throw new CommandFailure(EXIT_UNUSABLE, remedy);
}

/** Shows what would be changed, and asks. */
export async function askAfterPreview(shown: string, question: string): Promise<void> {
  process.stderr.write(`${shown}\n`);
  const dialogue = openDialogue();
  if (dialogue === null || !(await askYes(dialogue, question)))
    throw new CommandFailure(EXIT_UNUSABLE, "Nothing was changed.");
}

/** Ctrl-C or Escape. */
function cancelled(): CommandFailure {
  return new CommandFailure(EXIT_UNUSABLE, "Cancelled: nothing was done.");
}
