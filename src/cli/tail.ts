// `onceway tail`: follows a gateway's exchanges until Ctrl-C. Waits while the gateway cannot be reached.

import { setTimeout as pause } from "node:timers/promises";

import type { Command } from "commander";

import { jsonLine, lookOf, type TerminalLook, printableText, printableLines, type TextStyle } from "./look.ts";
import { type ShownExchange, type OperatorClient, type ShownExchanges, GatewayRefusal } from "./operator-client.ts";
import { connectOperator, operatorCommand, type OperatorOptions } from "./operator-options.ts";
import { CommandFailure } from "./exit-codes.ts";

const POLL_MS = 1_000;
const MAX_WAIT_MS = 30_000;

export function defineTail(command: Command): Command {
  command
    .summary("follow exchanges live")
    .description("Shows the exchanges that a gateway remembers, then each new one, until Ctrl-C.");
  return operatorCommand(command, "print one JSON object per line, each an exchange as the API gives it").action(tail);
}

async function tail(options: OperatorOptions): Promise<void> {
  const client = connectOperator(options);
  const look = lookOf(process.stdout);
  // The first call must succeed: a mistyped URL should fail at once.
  let recent = await client.recent(null);
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  process.once("SIGINT", stop).once("SIGTERM", stop);
  for (;;) {
    for (const exchange of recent.exchanges) {
      console.log(options.json === true ? jsonLine(exchange) : exchangeLine(exchange, look));
    }
    if (stopping.signal.aborted) return;
    await wait(POLL_MS, stopping.signal);
    const next = await follow(client, recent.cursor, stopping.signal);
    if (next === null) return;
    recent = next;
  }
}

/** Retries until it gets an answer; null when stopped. */
async function follow(client: OperatorClient, cursor: string, signal: AbortSignal): Promise<ShownExchanges | null> {
  for (let waitMs = POLL_MS; ; waitMs = Math.min(waitMs * 2, MAX_WAIT_MS)) {
    try {
      return await client.recent(cursor, signal);
    } catch (error) {
      if (signal.aborted) return null;
      if (!(error instanceof CommandFailure) || (error instanceof GatewayRefusal && !error.isTemporary)) throw error;
      if (waitMs === POLL_MS) process.stderr.write(`${printableLines(error.message)} Retrying …\n`);
      await wait(waitMs, signal);
    }
  }
}

async function wait(ms: number, signal: AbortSignal): Promise<void> {
  await pause(ms, undefined, { signal }).catch(() => undefined);
}

const OUTCOME_STYLES: Readonly<Record<string, TextStyle>> = { first: "green", accepted: "green", replay: "cyan" };

/** Pure. Columns have a fixed width: later lines are not known yet. */
export function exchangeLine(exchange: ShownExchange, look: TerminalLook): string {
  const { at, outcome, status, attempt, durationMs, originMs, route, recordId } = exchange;
  const took = `${Math.round(durationMs)} ms${originMs === null ? "" : ` (origin ${Math.round(originMs)} ms)`}`;
  const style = OUTCOME_STYLES[outcome] ?? "yellow";
  return [
    new Date(at).toISOString().slice(11, 23),
    look.paint(style, printableText(outcome).padEnd(21)),
    String(status),
    attempt === null ? "  " : `#${attempt}`,
    took.padEnd(24),
    printableText(route),
    recordId === null ? "" : look.paint("dim", printableText(recordId)),
  ]
    .join("  ")
    .trimEnd();
}
