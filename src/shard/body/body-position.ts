/** Where a byte of a body is, so that no chunk before it has to be read. */
export interface BodyPosition {
  readonly bytes: number;
  /** The chunk in which it is, and how many bytes are before that. */
  readonly chunk: number;
  readonly before: number;
}

export const START: BodyPosition = { bytes: 0, chunk: 0, before: 0 };
