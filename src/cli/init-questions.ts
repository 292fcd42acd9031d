// What `onceway init` asks on a terminal, for what its options leave open. Each answer is checked by the rules that apply to
// the file.

import { basename } from "node:path";

import { parsePathPattern } from "../config/path-pattern.ts";
import { parseOrigin } from "../config/values.ts";
import { askChoice, askText, type Dialogue } from "./ask.ts";
import type { GatewayPlan } from "./init-file.ts";

export type PlanAnswers = Omit<GatewayPlan, "paths">;

const FALLBACK_NAME = "onceway";

/** A Worker's name by its folder: two gateways of one account must not replace each other. */
export function nameFor(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 63);
  return nameProblem(name) === undefined ? name : FALLBACK_NAME;
}

export const DEFAULT_UNKNOWN = "hold";

/** Throws a Failure if the user cancels (Ctrl-C, Escape). */
export async function askWhatIsMissing(
  given: Partial<PlanAnswers>,
  usualName: string,
  dialogue: Dialogue,
): Promise<PlanAnswers> {
  const origin =
    given.origin ??
    (await askText(dialogue, {
      message: "Which API does the gateway stand in front of?",
      placeholder: "https://api.example.com",
      validate: (value) => originProblem(value ?? ""),
    }));
  const routes =
    given.routes ??
    splitPaths(
      await askText(dialogue, {
        message: "Which paths does it protect? (separated by spaces; the first that matches counts)",
        placeholder: "/v1/payments/* /v1/orders",
        validate: (value) => pathsProblem(splitPaths(value ?? "")),
      }),
    );
  const unknown =
    given.unknown ??
    (await askChoice<PlanAnswers["unknown"]>(dialogue, {
      message: "When a call broke off and nobody knows whether it took effect:",
      options: [
        { value: "hold", label: "hold", hint: "never a second try on a guess; you decide" },
        { value: "retry", label: "retry", hint: "try again when the first can no longer be running" },
      ],
      initialValue: DEFAULT_UNKNOWN,
    }));
  const name =
    given.name ??
    (await askText(dialogue, {
      message: "What is the Worker called?",
      initialValue: usualName,
      validate: (value) => nameProblem(value ?? ""),
    }));
  return { name, origin, routes, unknown };
}

/** What is wrong and what to write instead; undefined if the value is valid. */
export function originProblem(value: string): string | undefined {
  const parsed = parseOrigin(value);
  // A binding is no answer here.
  return parsed.ok ? undefined : parsed.message.replace(/(?:,| or) (?:or )?\{.*$/, "");
}

export function pathsProblem(paths: readonly string[]): string | undefined {
  if (paths.length === 0) return "name at least one path: /v1/payments/*";
  for (const path of paths) {
    const parsed = parsePathPattern(path);
    if (!parsed.ok) return `${path} ${parsed.message}`;
  }
  return undefined;
}

/** A Worker's name becomes a label of a host name. */
export function nameProblem(value: string): string | undefined {
  return /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(value)
    ? undefined
    : 'must be 1 to 63 lower-case letters, digits and inner hyphens: write "onceway"';
}

function splitPaths(value: string): readonly string[] {
  return value.split(/\s+/).filter((path) => path !== "");
}
