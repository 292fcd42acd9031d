// The receiver of webhooks (hook-process.ts), as tests start it.

import type { EventTry } from "../guarantees/history.ts";
import { readLines, startChild, type Stoppable, stoppable } from "./broker.ts";

export interface HookOptions {
  readonly port: number;
  /** The file of its journal. */
  readonly journal: string;
  /** With each of these it verifies every event. */
  readonly secrets: readonly string[];
}

/** One line of its journal: an event that has arrived, before it is answered. */
export interface HookLine {
  readonly path: string;
  readonly id: string;
  readonly webhookId: string;
  /** The record's id. */
  readonly subject: string;
  readonly type: string;
  /** As a history has it, unless it is an alert or has no key. */
  readonly event?: EventTry;
  /** The whole event, if it is an alert. */
  readonly alert?: unknown;
  /** Whether a signature is right, for each of the secrets. */
  readonly verified: readonly boolean[];
  readonly at: number;
}

export interface Hook extends Stoppable {
  readonly url: string;
  readJournal(): Promise<readonly HookLine[]>;
}

export async function startHook(options: HookOptions): Promise<Hook> {
  const child = await startChild("hook-process.ts", options);
  return {
    ...stoppable(child),
    url: `http://127.0.0.1:${options.port}`,
    readJournal: () => readLines(options.journal),
  };
}
