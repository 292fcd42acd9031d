// What the rules about queues share, in the simulation and in chaos.

/** Whether a result with this status settles a message, by default (`done` in src/features/queues/README.md). */
export const isDone = (status: number): boolean => status >= 200 && status < 400;
