// `Server-Timing` (W3C Server Timing): where the time of an exchange went, in whole milliseconds. It tells a client no more
// than its own clock and the other headers do.

import type { ExchangeReport } from "./traffic.ts";

const HEADER = "server-timing";

export function addServerTiming({ headers }: Response, report: ExchangeReport): void {
  const { outcome } = report;
  // What the origin said of the first exchange is not true of this one.
  if (outcome === "replay" || outcome === "attached") headers.set(HEADER, serverTiming(report));
  else headers.append(HEADER, serverTiming(report));
}

export function serverTiming({ outcome, durationMs, originMs, waitedMs }: ExchangeReport): string {
  const origin = originMs === null ? "" : `origin;dur=${Math.round(originMs)}, `;
  const wait = waitedMs === 0 ? "" : `wait;dur=${Math.round(waitedMs)}, `;
  const gatewayMs = Math.max(0, durationMs - (originMs ?? 0) - waitedMs);
  return `${origin}${wait}gateway;dur=${Math.round(gatewayMs)}${outcome === "replay" ? ';desc="replay"' : ""}`;
}
