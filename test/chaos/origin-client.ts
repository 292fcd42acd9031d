// The run's side of the origin.

import { startChild, type FromChild } from "./child.ts";
import type { HistoryEvent } from "../guarantees/history.ts";

/** `refuse`: stop listening and reset what is open. `finish`: report whatever is still open. */
export type ToOrigin = "refuse" | "listen" | "calm" | "finish";

export type FromOrigin = FromChild<ToOrigin>;

export interface ChaosOrigin {
  readonly url: string;
  /** Resolves when the origin has carried out the command. */
  tell(message: ToOrigin): Promise<void>;
  /** Resolves when the origin has reported everything and has exited. */
  close(): Promise<void>;
}

export async function startChaosOrigin(port: number, report: (event: HistoryEvent) => void): Promise<ChaosOrigin> {
  const { tell, close } = await startChild<ToOrigin>("origin.ts", [String(port)], report);
  return { url: `http://127.0.0.1:${port}`, tell, close: () => close("finish") };
}
