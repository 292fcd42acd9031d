// What an object of a layout that was left may still hold. Without the layout nobody would find it.

export const HELD = ["records", "bodies", "events", "positions", "alerts", "audit entries"] as const;
export type HeldKind = (typeof HELD)[number];

/** How many of one kind. */
export interface HeldRows {
  readonly what: HeldKind;
  readonly count: number;
}
