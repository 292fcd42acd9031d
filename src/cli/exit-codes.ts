// How a command ends: its exit code, and the one way to give up with a message. Every command shares these codes, and
// each one's help names them.

/** It did what was asked. */
export const OK = 0;
/** It was understood and the answer is no: a refusal, a problem in a file, a request that is not protected. */
export const REFUSED = 1;
/** Wrong arguments, or nobody could be reached. */
export const UNUSABLE = 2;

export const EXIT_CODES = "Exit codes: 0 done, 1 refused or not found, 2 wrong arguments or gateway not reachable.";

/** Ends the command. The message says what is wrong and what to do; it is all that a user sees of it. */
export class Failure extends Error {
  readonly exitCode: typeof REFUSED | typeof UNUSABLE;

  constructor(exitCode: typeof REFUSED | typeof UNUSABLE, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
