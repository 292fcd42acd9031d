// What a consumer in a process of its own is started with, and what it says.

import type { OnceOptions } from "../../../../src/client/index.ts";

/** Where a consumer can be stopped, in the order in which it gets there. */
export const POINTS = ["read", "claimed", "acted", "completed"] as const;
export type Point = (typeof POINTS)[number];

export interface ConsumerOptions {
  readonly name: string;
  readonly broker: "redis" | "kafka";
  readonly port: number;
  /** The stream or topic; also the group's name at the broker. */
  readonly stream: string;
  readonly group: string;
  readonly gateway: Pick<OnceOptions, "url" | "token" | "group">;
  /** Where effects are counted. */
  readonly effects: string;
  /** It stops there, at this message, until the file exists, or for good. */
  readonly stop: { readonly point: Point; readonly key: string; readonly until: string | null } | null;
  /** Reads everything again, whatever the broker and the gateway know. */
  readonly fromStart: boolean;
}
