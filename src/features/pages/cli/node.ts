// Pages of other origins in Node: what is probably a mistake in `cors`.

import type { ConfigProblem, Route } from "../../../kernel/config/resolved.ts";
import type { NodeFeature } from "../../../kernel/node-feature.ts";
import { corsEntries, corsMemberTexts, corsSettings, corsTexts } from "../settings/cors-entries.ts";

export const pagesNode: NodeFeature = {
  name: "pages",
  texts: [
    [corsSettings, corsTexts],
    [corsEntries, corsMemberTexts],
  ],
  check: { routeWarnings: withoutCookies },
};

/** Without credentials browsers send no cookies to another origin, so all visitors of its pages would be one caller. */
function withoutCookies({ name, scope, cors }: Route): readonly ConfigProblem[] {
  if (cors === null || cors.credentials || cors.origins === null) return [];
  const isCookieAlone = scope.some(({ kind }) => kind === "cookie") && !scope.some(({ kind }) => kind === "header");
  if (!isCookieAlone) return [];
  const message =
    "is false, but the scope names a cookie, which browsers then do not send from other origins, so that all their visitors " +
    "share one scope: write credentials = true";
  return [{ path: `${name}.cors.credentials`, code: "protection-weakened", message }];
}
