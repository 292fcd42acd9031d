// Short ways to a configuration and to its problems, for the tests of this folder.

import { expect } from "vitest";

import { flatRoute } from "../../../../src/cli/check/describe.ts";
import { readConfig } from "../../../../src/features/settings.ts";
import type { ConfigReading } from "../../../../src/kernel/config/read.ts";
import type { Config, ConfigProblem, Route } from "../../../../src/kernel/config/resolved.ts";

type Variables = Readonly<Record<string, unknown>>;

export const PAYMENTS: Variables = { path: "/v1/payments" };

/** What is read of variables that have to be right. */
export function readingOf(env: Variables): Extract<ConfigReading, { ok: true }> {
  const reading = readConfig(env);
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems, null, 2));
  return reading;
}

/** The configuration of variables that have to be right. */
export function configOf(env: Variables): Config {
  return readingOf(env).config;
}

/** The only route of a configuration with these settings. */
export function routeOf(settings: Variables, others: Variables = {}): Route {
  const [route] = configOf({ ROUTES: [{ ...PAYMENTS, ...settings }], ...others }).routes;
  if (route === undefined) throw new Error("no route");
  return route;
}

/** The same route's settings, side by side. */
export function settingsOf(settings: Variables): object {
  return flatRoute(routeOf(settings));
}

/** What a message says about the way out. Only a name that is unknown may be answered with a question. */
const REMEDY = /write|leave|name the methods|did you mean/;

/** The problems of variables that have to have some; every message says what to write. */
export function problemsOf(env: Variables): readonly ConfigProblem[] {
  const reading = readConfig(env);
  if (reading.ok) throw new Error("no problem was found");
  for (const { message } of reading.problems) expect(message).toMatch(REMEDY);
  return reading.problems;
}

/** The only problem of one route with these settings, as `path: message` from the route on. */
export function problemOf(settings: Variables): string {
  const problems = problemsOf({ ROUTES: [{ ...PAYMENTS, ...settings }] });
  expect(problems).toHaveLength(1);
  return problems.map(({ path, message }) => `${path.replace("ROUTES[0].", "")}: ${message}`).join();
}

/** Paths of the problems, in order. */
export function pathsOf(env: Variables): readonly string[] {
  return problemsOf(env).map(({ path }) => path);
}
