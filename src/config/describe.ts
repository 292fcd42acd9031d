// What a configuration protects, shown before a deployment: a short table for people, which nothing may parse, and a route's
// settings for scripts. Decides which settings matter at a glance, and names them as the file does.

import { type Config, type ForwardKey, type Origin, type Route, scopePartName } from "./resolved.ts";
import type { routeSchema } from "./settings.ts";
import { formatDuration } from "./units.ts";

const HEADINGS = [
  "path",
  "methods",
  "origin",
  "key",
  "scope",
  "unknown",
  "duplicate",
  "retention",
] as const satisfies readonly (keyof typeof routeSchema.entries)[];

/** One line per route, indented, in columns. */
export function describeConfig(config: Config): string {
  const rows = [HEADINGS, ...config.routes.map(describeRoute)];
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")}`.trimEnd())
    .concat(`  everything else goes unprotected to ${describeOrigin(config.origin)}`)
    .join("\n");
}

/** A route for scripts: its settings side by side, without the groups that the gateway keeps them in. */
export function flatRoute({ rules: { policy, lists, ...rules }, ...route }: Route): object {
  return { ...route, ...policy, ...lists, ...rules };
}

function describeRoute({ rules: { policy, duplicate, waitMs }, ...route }: Route): readonly string[] {
  return [
    route.path,
    route.methods.join(","),
    describeOrigin(route.origin),
    `${route.key}${describeForwarding(route.forwardKey)}`,
    route.scope.length === 0 ? "none" : route.scope.map(scopePartName).join("+"),
    policy.unknown,
    duplicate === "reject" ? duplicate : `${duplicate} ${formatDuration(waitMs)}`,
    formatDuration(policy.retentionMs),
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
