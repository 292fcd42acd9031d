// Keys from content in Node: what they promise, said plainly, and what is probably a mistake in them.

import type { ConfigProblem } from "../../../kernel/config/config-problem.ts";
import { KEY_SOURCE_FORMS, type KeyPart } from "../../../kernel/config/key-source.ts";
import type { TextsOf } from "../../../kernel/config/setting-kinds.ts";
import type { Config, Route } from "../../../kernel/config/resolved.ts";
import { formatDuration } from "../../../kernel/config/units.ts";
import type { NodeFeature } from "../../../kernel/node-feature.ts";
import { placesOf } from "../../../kernel/verify/state-rule.ts";
import { keySourceTexts } from "../../key-sources/settings/feature.ts";
import { contentKeyEntries, EXAMPLE } from "../settings/feature.ts";

const contentKeyTexts: TextsOf<typeof contentKeyEntries> = {
  key_from: {
    description:
      `${keySourceTexts.key_from.description} The last entry may be a table with \`digest\`: a request without a key then gets one from its content, ` +
      `for as long as its \`window\` (\`"1m"\` to \`"24h"\`) says. **Two equal requests of a caller within the window are then one operation.** ` +
      '`repeat` says whether the second gets the first answer (`"replay"`) or 409 (`"refuse"`).',
    takes: `${KEY_SOURCE_FORMS}; last \`${EXAMPLE}\`, or \`digest = "request"\``,
    onChange: keySourceTexts.key_from.onChange,
  },
};

export const contentKeysNode: NodeFeature = {
  name: "content-keys",
  texts: [[contentKeyEntries, contentKeyTexts]],
  check: { routeWarnings: (route) => [...amountsAlone(route), ...replayedPayout(route), ...unverified(route)] },
  promises: ({ routes }: Config) => routes.flatMap((route) => promiseOf(route).map((text) => `${route.path}: ${text}`)),
};

function promiseOf({ contentKey, keyFrom }: Route): readonly string[] {
  if (contentKey === null) return [];
  const { members, windowMs, repeat } = contentKey;
  const equal =
    members === null ? "all that the fingerprint counts equal" : `equal ${members.map(shortName).join(" and ")}`;
  const second = repeat === "replay" ? "the second gets the first answer" : "the second gets 409 repeated-content";
  // Where no other key is read, none makes a difference.
  const unless = keyFrom.length === 0 ? "" : ", unless they have keys of their own";
  return [
    `two requests with ${equal} within ${formatDuration(windowMs)} are ONE operation${unless}: ${second} (key_from, repeat = "${repeat}")`,
  ];
}

/** As people call it: `order.id` for `json:/order/id`. */
function shortName(part: KeyPart): string {
  return part.kind === "json" ? part.tokens.join(".") : part.name;
}

/** Names of values that many operations share. */
const AMOUNT = /(?:amount|price|total|sum|quantity|qty|currency|count)s?$/i;

function amountsAlone({ name, contentKey }: Route): readonly ConfigProblem[] {
  if (
    contentKey === null ||
    contentKey.members === null ||
    !contentKey.members.every((part) => AMOUNT.test(shortName(part)))
  ) {
    return [];
  }
  const { members, windowMs } = contentKey;
  const message =
    `makes keys from ${members.map(shortName).join(" and ")} alone, which different operations have in common: two of a caller within ` +
    `${formatDuration(windowMs)} would be one: add what names the operation, such as "json:/order_id"`;
  return [{ path: `${name}.key_from`, code: "protection-weakened", message }];
}

function replayedPayout({ name, path, contentKey }: Route): readonly ConfigProblem[] {
  if (contentKey?.repeat !== "replay" || !/refund|payout|transfer/i.test(path)) return [];
  const message =
    'has repeat = "replay", and two equal refunds, payouts or transfers are often both meant: the second gets the answer of the first and is never made: ' +
    'write repeat = "refuse", which says so to the client';
  return [{ path: `${name}.key_from`, code: "protection-weakened", message }];
}

/** The origin is never asked about a key that it never received. */
function unverified({ name, contentKey, verify }: Route): readonly ConfigProblem[] {
  if (contentKey === null || verify === null) return [];
  const asksKey = verify.state === undefined || placesOf(verify.state).some(({ kind }) => kind === "key");
  if (!asksKey) return [];
  const message =
    "asks the origin by key, and it never receives a key that is made from content (key_from with digest): after a lost answer such requests wait for an operator: " +
    "ask about a resource's state instead, if that is not meant";
  return [{ path: `${name}.verify`, message }];
}
