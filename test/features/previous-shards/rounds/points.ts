// The named points at which the rig kills the gateway. object/worker.ts reaches them inside the real code's objects, by wrapping
// what an object is given (its storage, its bindings, the global fetch), so production code knows nothing of them.

export const POINTS = [
  /** An operator's close has arrived at an object, which has done nothing yet. */
  "close-arrived",
  /** The close is written, and its turn has not ended: nothing is committed. */
  "close-written",
  /** The close is durable, and the operator has not heard of it. */
  "close-durable",
  /** A claim is written, and its turn has not ended. */
  "claim-written",
  /** The claim is durable, and the origin has not been called. */
  "claim-durable",
  /** The origin has answered, and nothing of it is stored. */
  "origin-answered",
  /** The attempt's end is written, and its turn has not ended. */
  "end-written",
  /** An object has said that a key begins elsewhere, and its answer has not reached the Worker. */
  "sent-elsewhere",
  /** A request that says which objects are closed has arrived. */
  "told-of-closed",
] as const;

export type Point = (typeof POINTS)[number];

/** How often a point is to be passed before the process stops there. The first to be reached counts. */
export type Strikes = Readonly<Partial<Record<Point, number>>>;

/** What the process prints when it has stopped at a point. */
export const STRUCK = "stopped at point:";

/** The variable that holds the strikes. */
export const STRIKES_VARIABLE = "STRIKES";
