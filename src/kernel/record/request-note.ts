// What a record notes of the request that it began with, so that operators see what the operation was. Nothing in the life cycle
// depends on it.

/** Text from the request is as the client sent it, and cut at `MAX_NOTE_LENGTH`. */
export interface RequestNote {
  readonly method: string;
  /** The path, and the query where the route notes it; `null`: neither. */
  readonly target: string | null;
  /** The size of the body; `null` if the client did not say and the body was not held. */
  readonly sizeBytes: number | null;
  /** The beginning of a SHA-256 of the scope's values, in hexadecimal; `null`: anybody. */
  readonly caller: string | null;
  /** The value that the route names in `note.label`; `null`: it names none, or the request has none. */
  readonly label: string | null;
  /** Until when the beginning of the body is kept, in milliseconds since the epoch; `null`: it is not. */
  readonly excerptUntil: number | null;
  /** It had no key: its key is made from its content. */
  readonly fromContent?: true;
}

export const MAX_NOTE_LENGTH = 300;

/** Enough to tell callers apart, and nobody's credential. */
export const CALLER_DIGITS = 12;

export function writeNote(note: RequestNote): string {
  return JSON.stringify(note);
}

/** Reads what `writeNote` wrote. */
export function readNote(text: string): RequestNote {
  return JSON.parse(text);
}
