// The origin that counts effects (effects-process.ts), as tests start it.

import { readLines, startChild, type Stoppable, stoppable } from "./broker.ts";

export interface EffectsOptions {
  readonly port: number;
  /** The file of its journal. */
  readonly journal: string;
  /** How long it takes to act. */
  readonly workMs: number;
}

/** One line of its journal; each has the time too. */
export interface EffectLine {
  readonly kind: "effect";
  /** The message's, or the key of a request that is no message. */
  readonly id: string;
  /** The unparsed `Idempotency-Attempt`. */
  readonly attempt: string;
}

export interface EffectsOrigin extends Stoppable {
  readonly url: string;
  readJournal(): Promise<readonly EffectLine[]>;
}

export async function startEffects(options: EffectsOptions): Promise<EffectsOrigin> {
  const child = await startChild("effects-process.ts", options);
  return {
    ...stoppable(child),
    url: `http://127.0.0.1:${options.port}`,
    readJournal: () => readLines(options.journal),
  };
}
