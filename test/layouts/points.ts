// The named points at which the rig kills the gateway. object/worker.ts reaches them inside the real code's objects, by wrapping
// what an object is given (its storage, its bindings, the global fetch), so production code knows nothing of them.

export const POINTS = [
  /** A newer object has decided to ask, and the question has not left. */
  "before-question",
  /** The question has arrived at the older object, which has done nothing yet. */
  "question-arrived",
  /** The seal is written, and its turn has not ended: nothing is committed. */
  "seal-written",
  /** The seal is durable, and the older object's answer has not left. */
  "seal-durable",
  /** The newer object has the answer, and has claimed nothing yet. */
  "answer-arrived",
  /** A claim is written, and its turn has not ended. */
  "claim-written",
  /** The claim is durable, and the origin has not been called. */
  "claim-durable",
  /** The origin has answered, and nothing of it is stored. */
  "origin-answered",
  /** The attempt's end is written, and its turn has not ended. */
  "end-written",
  /** A sealed object has said that the key belongs elsewhere, and its word has not reached the Worker. */
  "sent-away",
  /** A request that names older layouts, because of its Worker's configuration or another object's word, has arrived. */
  "told-of-elders",
] as const;

export type Point = (typeof POINTS)[number];

/** How often a point is to be passed before the process stops there. The first to be reached counts. */
export type Strikes = Readonly<Partial<Record<Point, number>>>;

/** What the process prints when it has stopped at a point. */
export const STRUCK = "stopped at point:";

/** The variable that holds the strikes. */
export const STRIKES_VARIABLE = "STRIKES";

/** At this path each Worker and the objects set their clock: `?ahead=MS`, below 0 for behind. */
export const CLOCK_PATH = "/.rig/clock";

/** At this path the objects say how many questions they have sent to older objects. */
export const ASKED_PATH = "/.rig/asked";
