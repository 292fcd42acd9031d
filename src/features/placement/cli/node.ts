// What `onceway check` says of where the objects are: warnings, because a gateway works wherever they are. What it says of Cloudflare comes from
// Cloudflare's documentation ("Data location", "Placement").

import { type ConfigProblem, valueFix } from "../../../kernel/config/config-problem.ts";
import { allRoutes, type Config, type Route } from "../../../kernel/config/resolved.ts";
import { isTable, type SettingsTable } from "../../../kernel/config/table.ts";
import type { Jurisdiction, LocationHint, ObjectPlacement } from "../../../kernel/config/words.ts";
import type { NodeFeature } from "../../../kernel/node-feature.ts";

export const placementNode: NodeFeature = {
  name: "placement",
  check: {
    warnings: unsuitableHints,
    fileWarnings: (config, own, top) => [...undecided(config), ...movedWorker(own, top)],
  },
};

/** What is said for all is said once: a route without a setting of its own has that of `[vars.IDEMPOTENCY]`. */
function undecided(config: Config): readonly ConfigProblem[] {
  if (allRoutes(config).every(isDecided)) return [];
  const message =
    "is missing, and so is jurisdiction, so the first request, scrape or cron trigger that needs an object decides for good where it " +
    'lies: write the region of the API, location_hint = "enam" or "wnam" or ' +
    '"weur" or "eeur" or "apac" or "oc", or "first-use" if it runs in several';
  return [{ path: "IDEMPOTENCY.location_hint", code: "placement-undecided", message }];
}

function isDecided({ layouts: { own } }: Route): boolean {
  return own.jurisdiction !== null || own.locationHint !== null;
}

/** Where objects are created that were to be in a region that has none. */
const NEAREST: Readonly<Partial<Record<ObjectPlacement, LocationHint>>> = { sam: "enam", afr: "weur", me: "eeur" };

const INSIDE_US = ["enam", "wnam"] as const;
const INSIDE: Readonly<Record<Jurisdiction, readonly LocationHint[]>> = {
  eu: ["weur", "eeur"],
  us: INSIDE_US,
  fedramp: INSIDE_US,
  "fedramp-high": INSIDE_US,
};

/** Of each pair of hint and jurisdiction one warning, where it is written first. */
function unsuitableHints(config: Config): readonly ConfigProblem[] {
  const places = [
    { name: "IDEMPOTENCY", layout: config.gateway },
    ...allRoutes(config).map(({ name, layouts: { own } }) => ({ name, layout: own })),
  ];
  const seen = new Set<string>();
  return places.flatMap(({ name, layout: { jurisdiction, locationHint } }) => {
    const problem = hintProblem(`${name}.location_hint`, locationHint, jurisdiction);
    const pair = `${locationHint} ${jurisdiction}`;
    if (problem === null || seen.has(pair)) return [];
    seen.add(pair);
    return [problem];
  });
}

function hintProblem(
  path: string,
  hint: ObjectPlacement | null,
  jurisdiction: Jurisdiction | null,
): ConfigProblem | null {
  if (hint === null || hint === "first-use") return null;
  const inside = jurisdiction === null ? null : INSIDE[jurisdiction];
  if (inside !== null && !inside.includes(hint)) {
    const others = inside.map((one) => `"${one}"`).join(" or ");
    const message = `"${hint}" lies outside jurisdiction = "${jurisdiction}", which decides: write ${others}, or leave it out`;
    return { path, code: "settings-contradict", message };
  }
  const nearest = NEAREST[hint];
  if (nearest === undefined) return null;
  const message = `"${hint}" places nothing: Cloudflare has no objects there and creates them in "${nearest}": write that, or serve near the API (npx onceway serve)`;
  return { path, code: "placement-unsuitable", message, fix: valueFix(nearest) };
}

/** The Worker answers replays and refusals without the origin, and the object calls the origin: near the origin, the Worker is only farther from its clients. */
function movedWorker(own: SettingsTable, top: SettingsTable): readonly ConfigProblem[] {
  const placement = own["placement"] ?? top["placement"];
  if (!isTable(placement) || placement["mode"] === "off") return [];
  const message =
    "moves the Worker away from its clients, and an object, not the Worker, calls the origin: replays and refusals become slower, and first " +
    "requests not faster: remove [placement], and write location_hint";
  return [{ path: "placement", code: "placement-unsuitable", message }];
}
