// What enforcing would break, for `check --against`: a configuration that protects more keys of a route than the running gateway, which has
// observed it, and says what it would have refused.

import type { Config, ConfigProblem, Route } from "../../../kernel/config/resolved.ts";
import type { AskGateway } from "../../../kernel/node-feature.ts";
import { reportSchema } from "../operator/report-schema.ts";
import type { ShownReport } from "./report.ts";

export async function breakingRequests({ routes }: Config, ask: AskGateway): Promise<readonly ConfigProblem[]> {
  // An older gateway has no report.
  const report = await ask(reportSchema, "/report").catch(() => null);
  return report === null ? [] : routes.flatMap((route) => breakingOf(route, report));
}

/** The sentences are the running gateway's: by its settings, not by those that are checked. */
export function breakingOf({ name, path, trial }: Route, { routes }: ShownReport): readonly ConfigProblem[] {
  const running = routes.find(({ route }) => route === path);
  const share = trial?.protectedShare ?? 1;
  if (running === undefined || running.protectedShare === null || running.protectedShare >= share) return [];
  return running.lines
    .filter(({ kind }) => kind === "break")
    .map(({ count, text, setting }) => ({
      path: `${name}.mode`,
      code: "requests-refused",
      message: `protects more keys, and of the requests that were observed ${count ?? ""} ${text}${setting === null ? "" : ` (${setting})`}: npx onceway report shows them`,
    }));
}
