// Checks how requests come to the Worker and where they go from there: an origin that is missing, the Worker itself, or nowhere that
// Cloudflare can reach. Knows addresses only as the file writes them.

import type { ConfigProblem } from "../../kernel/config/config-problem.ts";
import { isTable, type SettingsTable } from "../../kernel/config/table.ts";
import type { Config, Origin } from "../../kernel/config/resolved.ts";
import { isLoopback } from "../../kernel/config/values.ts";

export function reachProblems(config: Config, own: SettingsTable, top: SettingsTable): readonly ConfigProblem[] {
  return [...missingOrigin(config, own, top), ...itself(config, own, top)];
}

/** The Worker without an origin passes requests on to their own URL, which is another server only where a zone's route leads to it. */
function missingOrigin(config: Config, own: SettingsTable, top: SettingsTable): readonly ConfigProblem[] {
  const routes = routesOf(own, top);
  if (config.origin.kind !== "zone" || config.routes.length === 0 || routes.some((route) => !isCustomDomain(route)))
    return [];
  if (config.routes.every(({ origin }) => origin.kind !== "zone")) return [];
  const why =
    routes.length === 0
      ? "and no route of a zone leads to this Worker"
      : "and behind a custom domain there is no other server than this Worker";
  return [
    {
      path: "IDEMPOTENCY.origin",
      code: "origin-missing",
      message:
        `is missing, ${why}, so requests have nowhere to go: write origin = "https://api.example.com" in [vars.IDEMPOTENCY], ` +
        'or, in front of a zone\'s own server, routes = [{ pattern = "api.example.com/*", zone_name = "example.com" }] at the top',
    },
  ];
}

/** An origin at an address that leads to this Worker: each request would go round until the gateway refuses it. */
function itself(config: Config, own: SettingsTable, top: SettingsTable): readonly ConfigProblem[] {
  const hosts = new Set(routesOf(own, top).filter(isCustomDomain).map(patternOf));
  const name = own["name"] ?? top["name"];
  return originsOf(config).flatMap(({ path, url }) => {
    const isDomain = hosts.has(url.host);
    const isDevelopment =
      typeof name === "string" && url.host.endsWith(".workers.dev") && url.host.startsWith(`${name}.`);
    if (!isDomain && !isDevelopment) return [];
    const message = `is the address of this Worker itself, so requests would go round in circles: write the address of your API`;
    return [{ path, code: "origin-missing" as const, message }];
  });
}

/** Nothing else than a zone's route, a custom domain or workers.dev leads to a Worker. */
export function reachWarnings(config: Config, own: SettingsTable, top: SettingsTable): readonly ConfigProblem[] {
  if ((own["workers_dev"] ?? top["workers_dev"]) !== false) return [];
  if (routesOf(own, top).length > 0 || config.routes.length === 0) return [];
  const message =
    'is false, and there are no routes, so no request reaches this Worker: write routes = ["api.example.com/*"], or true here';
  return [{ path: "workers_dev", code: "worker-unreachable", message }];
}

/** Names that belong to nobody (RFC 2606). Those that end in `.invalid` are left to a lookup, which never finds them. */
export function isExample(hostname: string): boolean {
  return /(?:^|\.)example\.(?:com|net|org)$|\.(?:example|test)$/.test(hostname);
}

/** Of examples, and of this machine. */
export function originNotes(config: Config): readonly ConfigProblem[] {
  return originsOf(config).flatMap(({ path, url: { hostname } }) => {
    if (isExample(hostname)) {
      return [
        {
          path,
          code: "origin-placeholder" as const,
          message: `"${hostname}" is only an example: write your API's address before you deploy`,
        },
      ];
    }
    if (!isLoopback(hostname)) return [];
    const message = `"${hostname}" is the machine that the gateway runs on: write another address before you deploy to Cloudflare`;
    return [{ path, code: "origin-placeholder" as const, message }];
  });
}

/** A monitor answers a GET with what the API said to a POST, and to a browser everything on one host is one site. */
export function operatorNotes({ routes, operatorHostname }: Config): readonly ConfigProblem[] {
  const accepting = routes.find((route) => route.async !== "never");
  if (accepting === undefined || operatorHostname !== null) return [];
  const message =
    `is missing, so the console is on the host of your API, on which ${accepting.name} has monitors that answer a GET with what the API said: ` +
    'write hostname = "ops.example.com" in [vars.OPERATOR_API], and a route of the zone for that host';
  return [{ path: "OPERATOR_API.hostname", code: "operators-shared", message }];
}

export interface PlacedOrigin {
  readonly path: string;
  readonly url: URL;
}

/** The gateway's own, then those of routes that have another. */
export function originsOf({ origin: common, routes }: Config): readonly PlacedOrigin[] {
  const others = routes.filter(({ origin }) => addressOf(origin) !== addressOf(common));
  const all = [{ name: "IDEMPOTENCY", origin: common }, ...others];
  return all.flatMap(({ name, origin }) => {
    const address = addressOf(origin);
    return address === null ? [] : [{ path: `${name}.origin`, url: new URL(address) }];
  });
}

function addressOf(origin: Origin): string | null {
  return origin.kind === "url" ? origin.url : null;
}

/** Environments inherit them. */
function routesOf(own: SettingsTable, top: SettingsTable): readonly unknown[] {
  const list = own["routes"] ?? own["route"] ?? top["routes"] ?? top["route"] ?? [];
  return Array.isArray(list) ? list : [list];
}

function isCustomDomain(route: unknown): boolean {
  return isTable(route) && route["custom_domain"] === true;
}

function patternOf(route: unknown): unknown {
  return isTable(route) ? route["pattern"] : null;
}
