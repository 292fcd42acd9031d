// The origin that counts effects (effects-process.ts), as tests start it.

import type { Arrival, Effect, Verification } from "../guarantees/history.ts";
import { sha256 } from "../guarantees/recorders/marks.ts";
import { readLines, startChild, type Stoppable, stoppable } from "./broker.ts";

export interface EffectsOptions {
  readonly port: number;
  /** The file of its journal. */
  readonly journal: string;
  /** How long it takes to act. */
  readonly workMs: number;
}

/** One line of its journal. */
export type OriginLine = Arrival | Effect | Verification;

/** How a history names the caller with this credential, which no answer of the origin may contain. */
export function scopeOf(credential: string): string {
  return credential === "" ? "" : sha256(credential).slice(0, 8);
}

export interface EffectsOrigin extends Stoppable {
  readonly url: string;
  readJournal(): Promise<readonly OriginLine[]>;
  /** The attempts that it has acted for. */
  effects(): Promise<readonly Effect[]>;
}

export async function startEffects(options: EffectsOptions): Promise<EffectsOrigin> {
  const child = await startChild("effects-process.ts", options);
  const readJournal = (): Promise<readonly OriginLine[]> => readLines(options.journal);
  return {
    ...stoppable(child),
    url: `http://127.0.0.1:${options.port}`,
    readJournal,
    effects: async () => (await readJournal()).filter((line) => line.type === "effect"),
  };
}
