// The rules of one request: those of its route, as far as they apply to this key.

import type { ContentKey } from "../config/key-source.ts";
import type { RouteRules } from "../config/resolved.ts";
import { durationMs } from "../record/units.ts";
import type { ExchangeIntent } from "./intent.ts";
import type { Verification } from "./message.ts";

/**
 * If the origin cannot be asked about this key, clients are not advised to wait for its answer. A key that is made from content is
 * kept for its window and no longer, unless its outcome is unknown: that blocks equal requests until somebody decides.
 */
export function rulesFor(
  { route, key }: Pick<ExchangeIntent, "route" | "key">,
  verification: Verification | null,
): RouteRules {
  const rules =
    key.isFromContent === true && route.contentKey !== null ? contentRules(route.rules, route.contentKey) : route.rules;
  const { policy } = rules;
  if (policy.unknown !== "verify" || verification !== null) return rules;
  return { ...rules, policy: { ...policy, unknown: "hold" } };
}

/** One object for each route, because the text of rules is made once for each (message.ts). */
const rulesOfContent = new WeakMap<RouteRules, RouteRules>();

function contentRules(rules: RouteRules, { windowMs, repeat }: ContentKey): RouteRules {
  const known = rulesOfContent.get(rules);
  if (known !== undefined) return known;
  const { rememberMs: _, ...policy } = rules.policy;
  const own = { ...rules, policy: { ...policy, retentionMs: durationMs(windowMs) }, contentKey: { windowMs, repeat } };
  rulesOfContent.set(rules, own);
  return own;
}
