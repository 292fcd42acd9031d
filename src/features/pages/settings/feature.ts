// The settings of pages of other origins: what they add to a route, and their relations. As in cross-checks.ts, a relation with an invalid
// setting is skipped.

import type { InForce } from "../../../kernel/config/in-force.ts";
import { keyHeaders, readSources } from "../../../kernel/config/key-source.ts";
import type { ConfigProblem } from "../../../kernel/config/config-problem.ts";
import type { Cors, Route } from "../../../kernel/config/resolved.ts";
import { FINGERPRINT_DEFAULTS } from "../../../kernel/config/settings-fingerprint.ts";
import type { FullSettings } from "../../../kernel/config/settings.ts";
import type { FeatureSettings } from "../../../kernel/feature-settings.ts";
import { CORS_DEFAULTS, corsEntries, type CorsSettings, corsSettings } from "./cors-entries.ts";

export const pagesSettings: FeatureSettings<CorsSettings> = {
  name: "pages",
  routes: { after: "note", entries: corsSettings, tables: { cors: corsEntries } },
  read: () => ({ check: (rules) => rules.flatMap(({ inForce }) => corsProblems(inForce)), resolveRoute }),
};

/** Headers that pages need for most requests, whatever the route. */
const USUAL_HEADERS = ["Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID"];

/** What a page reads of the answer that its request is accepted. */
const ACCEPTED_HEADERS = ["Location", "Preference-Applied"];

function resolveRoute(route: Route, settings: FullSettings & CorsSettings): Route {
  const { origins, ...cors } = { ...CORS_DEFAULTS, ...settings.cors };
  if (origins === undefined) return route;
  const callers = [...settings.scope, ...route.identities.flatMap(({ credential }) => credential)];
  const scope = callers.flatMap((part) => (part.kind === "header" ? [part.name] : []));
  const read = [
    ...keyHeaders(readSources(route)),
    ...scope,
    ...(settings.fingerprint.headers ?? FINGERPRINT_DEFAULTS.headers),
  ];
  const isAsync = route.async !== "never";
  const resolved: Cors = {
    origins,
    credentials: cors.credentials,
    allowHeaders: differentNames([...USUAL_HEADERS, ...(isAsync ? ["Prefer"] : []), ...read, ...cors.allow_headers]),
    exposeHeaders: isAsync ? differentNames([...cors.expose_headers, ...ACCEPTED_HEADERS]) : cors.expose_headers,
    preflight: cors.preflight,
    maxAgeMs: cors.max_age,
  };
  return { ...route, cors: resolved };
}

/** Each name once; names compare without case. */
function differentNames(names: readonly string[]): readonly string[] {
  const seen = new Set<string>();
  return names.filter((name) => {
    const isNew = !seen.has(name.toLowerCase());
    seen.add(name.toLowerCase());
    return isNew;
  });
}

/** Browsers refuse an answer for every page to a request with credentials (Fetch standard, "CORS check"). */
function corsProblems({ all, isKnown, place }: InForce<CorsSettings>): readonly ConfigProblem[] {
  if (!isKnown("cors") || Object.keys(all.cors).length === 0) return [];
  const path = `${place("cors")}.cors`;
  const { origins, credentials } = all.cors;
  if (origins === undefined) {
    const missing = 'is missing: write origins = ["https://shop.example.com"]';
    return [{ path: `${path}.origins`, code: "setting-missing", message: missing }];
  }
  if (origins !== null || credentials !== true) return [];
  const message = 'must list the origins with credentials = true, because "*" would let every page act as its visitor';
  const advice = 'write ["https://shop.example.com"], or credentials = false';
  return [{ path: `${path}.origins`, code: "settings-contradict", message: `${message}: ${advice}` }];
}
