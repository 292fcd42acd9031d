// Work that the gateway does in parts, one call after the other. What was done before a part failed must not be lost with it.

import { CommandFailure } from "./exit-codes.ts";
import { printableLines } from "./look.ts";

export interface InParts<Sum> {
  readonly sum: Sum;
  /** Why it has ended before the last part; `null`: it has not. */
  readonly stopped: CommandFailure | null;
}

/** Calls until `isLast`. Throws what the first call throws: there is nothing to print. */
export async function inParts<Part>(
  call: (before: Part | null) => Promise<Part>,
  isLast: (part: Part) => boolean,
  add: (sum: Part, part: Part) => Part,
): Promise<InParts<Part>> {
  let part: Part = await call(null);
  let sum: Part = part;
  try {
    while (!isLast(part)) {
      part = await call(part);
      sum = add(sum, part);
    }
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    return { sum, stopped: error };
  }
  return { sum, stopped: null };
}

/** What all parts of a preview have found. A part of it says too little, so this throws why it has stopped: nothing was changed. */
export function wholeOf<Sum>({ sum, stopped }: InParts<Sum>): Sum {
  if (stopped !== null) throw stopped;
  return sum;
}

/** After what was done is printed: says why that is not all, and sets the exit code. */
export function reportStopped(stopped: CommandFailure | null, rest: string): void {
  if (stopped === null) return;
  process.stderr.write(`${printableLines(`${stopped.message}\nStopped there: ${rest}`)}\n`);
  process.exitCode = stopped.exitCode;
}
