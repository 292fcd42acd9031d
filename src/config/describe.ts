// Says in a short table what a configuration protects, for an operator to read before a deployment. Decides which
// settings matter at a glance; nothing may parse its output.

import { type Config, type ForwardKey, type Origin, type Route, scopePartName } from "./resolved.ts";
import { formatDuration } from "./units.ts";

const HEADINGS = ["path", "methods", "origin", "key", "scope", "unknown", "duplicate", "retention"];

/** One line per route, indented, in columns. */
export function describeConfig(config: Config): string {
  const rows = [HEADINGS, ...config.routes.map(describeRoute)];
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")}`.trimEnd())
    .concat(`  everything else goes unprotected to ${describeOrigin(config.origin)}`)
    .join("\n");
}

function describeRoute(route: Route): readonly string[] {
  return [
    route.path,
    route.methods.join(","),
    describeOrigin(route.origin),
    `${route.key}${describeForwarding(route.forwardKey)}`,
    route.scope.length === 0 ? "none" : route.scope.map(scopePartName).join("+"),
    route.unknown,
    route.duplicate === "reject" ? route.duplicate : `${route.duplicate} ${formatDuration(route.waitMs)}`,
    formatDuration(route.retentionMs),
  ];
}

function describeOrigin(origin: Origin): string {
  switch (origin.kind) {
    case "url":
      return origin.url;
    case "binding":
      return `binding ${origin.binding}`;
    case "zone":
      return "the zone's origin";
  }
}

function describeForwarding(forwardKey: ForwardKey): string {
  switch (forwardKey.kind) {
    case "client":
      return "";
    case "none":
      return ", not forwarded";
    case "step":
      return `, forwarded as :${forwardKey.step}`;
  }
}
