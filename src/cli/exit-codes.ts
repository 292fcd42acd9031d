// The exit codes that all commands share, and the one way to end a command with a message. Each command's help lists the
// codes.

/** Done. */
export const OK = 0;
/** Understood, but the answer is no: a refusal, a problem in a file, a request that is not protected. */
export const EXIT_REFUSED = 1;
/** Wrong arguments, the wrong token, or the gateway cannot be reached. */
export const EXIT_UNUSABLE = 2;

export const EXIT_CODES =
  "Exit codes: 0 done, 1 refused or not found, 2 wrong arguments, wrong token or gateway not reachable.";

/** Ends the command. The user sees only the message: it says what is wrong and what to do. */
export class CommandFailure extends Error {
  readonly exitCode: typeof EXIT_REFUSED | typeof EXIT_UNUSABLE;

  constructor(exitCode: typeof EXIT_REFUSED | typeof EXIT_UNUSABLE, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
