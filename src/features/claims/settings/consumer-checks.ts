// Checks the relations between the settings of groups of consumers, and reads their tokens, which are secrets. No message may ever
// show one.

import type { HasBinding } from "../../../kernel/config/in-force.ts";
import type { NamedOperator } from "../../../kernel/config/operators.ts";
import { MAKE_TOKEN, tokenProblems } from "../../../kernel/config/read-operators.ts";
import type { ConfigProblem, ConsumerGroup } from "../../../kernel/config/resolved.ts";
import { CONSUMER_DEFAULTS, type ConsumerDraft } from "./consumer-entries.ts";
import { formatDuration } from "../../../kernel/config/units.ts";

export function claimConsumerProblems(
  drafts: readonly ConsumerDraft[],
  hasBinding: HasBinding,
  operators: readonly NamedOperator[],
): readonly ConfigProblem[] {
  const ofOperators = new Set(["ADMIN_TOKEN", "READ_TOKEN", ...operators.flatMap(({ secrets }) => secrets)]);
  const users = new Map<string, string>();
  return drafts.flatMap(({ name, written }) => {
    const problems: ConfigProblem[] = [];
    const { lock, max_lock: maxLock, retention } = { ...CONSUMER_DEFAULTS, ...written };
    if (lock > maxLock) {
      const message = `must not exceed max_lock (${formatDuration(maxLock)}): write lock = "${formatDuration(maxLock)}" or less, or a longer max_lock`;
      problems.push({ path: `${name}.lock`, message });
    }
    if (retention <= maxLock) {
      const message = `must exceed max_lock (${formatDuration(maxLock)}): write retention = "7d"`;
      problems.push({ path: `${name}.retention`, message });
    }
    for (const secret of written.token) {
      const path = `${name}.token`;
      const user = users.get(secret);
      users.set(secret, path);
      if (ofOperators.has(secret)) {
        problems.push({ path, message: `is the operators' ${secret}: write a secret of this group's own` });
      } else if (user !== undefined) {
        problems.push({ path, message: `is ${secret}, which ${user} has already: write a secret of its own` });
      } else if (!hasBinding(secret, "secret")) {
        const message = `there is no secret ${secret}: write it with npx wrangler secret put ${secret}`;
        problems.push({ path, message });
      }
    }
    return problems;
  });
}

/** A value that opens a group. */
export interface ConsumerToken {
  readonly group: string;
  readonly token: string;
}

export interface ConsumerTokensReading {
  readonly tokens: readonly ConsumerToken[];
  readonly problems: readonly ConfigProblem[];
}

/** The tokens of all groups. None may be another's, or one of `others`. */
export function readConsumerTokens(
  env: Readonly<Record<string, unknown>>,
  consumers: readonly ConsumerGroup[],
  others: readonly string[] = [],
): ConsumerTokensReading {
  const tokens: ConsumerToken[] = [];
  const problems: ConfigProblem[] = [];
  const taken = new Set(others);
  for (const { group, tokens: names } of consumers) {
    for (const name of names) {
      const value = env[name];
      const faults = tokenProblems(name, value);
      problems.push(...faults);
      if (typeof value !== "string" || faults.length > 0) continue;
      if (taken.has(value)) {
        problems.push({ path: name, message: `must differ from every other token: ${MAKE_TOKEN}` });
      }
      taken.add(value);
      tokens.push({ group, token: value });
    }
  }
  return { tokens, problems };
}
