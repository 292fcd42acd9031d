// The run's side of the receiver of events, and what the gateway is told of it.

import type { VariableValue } from "../../src/serve/workerd-config.ts";
import { startChild, type FromChild } from "./child.ts";
import type { HistoryEvent, PublicationPolicy } from "../guarantees/history.ts";
import { STEP } from "../guarantees/recorders/event-tries.ts";

/** Every result has an event for `every`; one for `origins` has what the origin says in its answer. */
export const DESTINATIONS = ["every", "origins"] as const;

/** Used in chaos runs only. */
export const HOOK_SECRET = `whsec_${btoa("chaos".repeat(8))}`;

export const PUBLISH: readonly { readonly [setting: string]: VariableValue }[] = [
  { to: "every", type: "chaos.ended", when: ["2xx", "3xx", "4xx", "5xx"], data: "response", step: STEP },
  { to: "origins", type: "chaos.made", when: ["2xx"], data: "origin", step: STEP },
];

/** The same, as the history says it. */
export const PUBLICATIONS: readonly PublicationPolicy[] = [{ to: "every" }, { to: "origins", isOrigins: true }];

/** `calm`: take everything from now on. */
export type ToReceiver = "calm" | "finish";
export type FromReceiver = FromChild<ToReceiver>;

export interface ChaosReceiver {
  /** The configuration of the destinations. */
  readonly destinations: readonly { readonly [setting: string]: VariableValue }[];
  calm(): Promise<void>;
  close(): Promise<void>;
}

/** `takesAll`: it refuses nothing, because nobody could end the rest of a destination that has failed. */
export async function startReceiver(
  port: number,
  seed: string,
  takesAll: boolean,
  report: (event: HistoryEvent) => void,
): Promise<ChaosReceiver> {
  const values = [String(port), seed, ...(takesAll ? ["takes-all"] : [])];
  const { tell, close } = await startChild<ToReceiver>("receiver.ts", values, report);
  const url = `http://127.0.0.1:${port}`;
  return {
    destinations: DESTINATIONS.map((name) => ({ name, url: `${url}/${name}`, secret: "HOOK_SECRET" })),
    calm: () => tell("calm"),
    close: () => close("finish"),
  };
}
