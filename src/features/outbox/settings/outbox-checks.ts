// Checks the relations between `publish` and other settings. As in cross-checks.ts, a relation with an invalid setting is skipped.

import type { PublishSettings } from "./outbox-entries.ts";
import { describeDestination } from "./read-destinations.ts";
import {
  allRoutes,
  type Config,
  type ConfigProblem,
  type Destination,
  type Route,
} from "../../../kernel/config/resolved.ts";
import type { PlacedRules } from "../../../kernel/feature-settings.ts";
import { nearestName } from "../../../kernel/config/nearest-name.ts";

/** `destinations` are the names of all, also of those with problems. */
export function publishProblems(
  { place: own, hasResponses, inForce: { all, isKnown, place, source } }: PlacedRules<PublishSettings>,
  destinations: readonly string[],
): readonly ConfigProblem[] {
  if (!isKnown("publish") || all.publish.length === 0) return [];
  const problems: ConfigProblem[] = [];
  const at = `${place("publish")}.publish`;
  for (const [index, { to, data }] of all.publish.entries()) {
    if (!destinations.includes(to))
      problems.push({ path: `${at}[${index}].to`, message: unknownMessage(to, destinations) });
    if (data === "origin" && !hasResponses && source("publish") === own) {
      const message =
        'must not be "origin", because a claim has no response in which an origin could say anything: write data = "response"';
      problems.push({ path: `${at}[${index}].data`, message });
    }
  }
  if (isKnown("encrypt_responses") && all.encrypt_responses === true) {
    const message =
      "must be empty with encrypt_responses = true, because an event would tell whoever receives it, and whoever has the database, what is encrypted: leave it out";
    problems.push({ path: `${place("publish", "encrypt_responses")}.publish`, message });
  }
  return problems;
}

function unknownMessage(to: string, destinations: readonly string[]): string {
  const nearest = nearestName(to, destinations);
  if (nearest !== null) return `there is no destination "${to}"; did you mean "${nearest}"?`;
  const advice =
    destinations.length === 0
      ? `write [[vars.DESTINATIONS]] with name = "${to}"`
      : `write one of ${destinations.join(", ")}, or [[vars.DESTINATIONS]] with name = "${to}"`;
  return `there is no destination "${to}": ${advice}`;
}

/** Destinations that get nothing. */
export function unusedDestinations(config: Config): readonly ConfigProblem[] {
  const { destinations } = config;
  const used = new Set(allRoutes(config).flatMap(({ rules }) => (rules.policy.publish ?? []).map(({ to }) => to)));
  return destinations
    .filter(({ name, alerts }) => alerts.length === 0 && !used.has(name))
    .map(({ name }) => ({
      path: "DESTINATIONS",
      message: `nothing is published to "${name}": write publish = [{ to = "${name}", type = "…" }] in a route, a queue or a group, give it alerts, or leave it out`,
    }));
}

/** For `check`: which events the results of each route, queue and group have. */
export function describePublished(config: Config): readonly string[] {
  return allRoutes(config).flatMap((route) =>
    publishedBy(route, config.destinations).map((text) => `${route.path}: ${text}`),
  );
}

function publishedBy({ rules }: Pick<Route, "rules">, destinations: readonly Destination[]): readonly string[] {
  return (rules.policy.publish ?? []).map(({ to, type, when, data }) => {
    const destination = destinations.find(({ name }) => name === to);
    const where = destination === undefined ? to : describeDestination(destination);
    return `publishes "${type}" to ${where} with each result ${when.join(", ")} (data = "${data}"), at least once, in one commit with the result`;
  });
}
