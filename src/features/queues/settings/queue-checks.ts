// Checks the relations between a queue's settings, and what they need of the Worker: bindings and secrets. Relations that
// routes have too are checked with theirs (`cross-checks.ts`); what else stands in the file, by `check-file.ts`.

import type { HasBinding } from "../../../kernel/config/in-force.ts";

import { originOrZone } from "../../../kernel/config/settings-origin.ts";
import type { ConfigProblem, Origin, Queue } from "../../../kernel/config/resolved.ts";
import type { FullSettings } from "../../../kernel/config/settings.ts";
import { QUEUE_DEFAULTS, type QueueDraft } from "./queue-entries.ts";
import { strangeHost } from "../../../kernel/verify/verify-rule.ts";
import { DAY_MS, formatDuration, MINUTE_MS, SECOND_MS } from "../../../kernel/config/units.ts";

/** How long a queue keeps messages by default, and at most. */
const DEFAULT_QUEUE_RETENTION_MS = 4 * DAY_MS;
const MAX_QUEUE_RETENTION_MS = 14 * DAY_MS;

/** The platform ends a batch after 15 minutes, and starting and deciding take their part. */
const MAX_BATCH_MS = 15 * MINUTE_MS - 70 * SECOND_MS;

/** `all`: the settings in force for the queue. */
export function queueProblems(
  { name, written }: QueueDraft,
  all: FullSettings,
  hasBinding: HasBinding,
): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const report = (member: string, message: string): void => void problems.push({ path: `${name}.${member}`, message });
  if (all.origin === undefined && written.to.startsWith("/")) {
    report("to", 'is a path, and no origin is configured: write origin = "https://api.example.com", or to as a URL');
  }
  if (all.retention < DEFAULT_QUEUE_RETENTION_MS) {
    report(
      "retention",
      `must not be below 4d, because a queue delivers a message again for 4 days (14, if it is configured so): write retention = "7d"`,
    );
  }
  const longestMs = all.timeout + all.idle_timeout + all.wait;
  if (longestMs > MAX_BATCH_MS) {
    report(
      "timeout",
      `is too long: with idle_timeout and wait it makes ${formatDuration(longestMs)}, and the platform ends a batch after 15m: write timeout = "5m" or less`,
    );
  }
  const strange =
    all.unknown === "verify" && all.verify !== undefined
      ? strangeHost(all.verify, targetOf(originOrZone(all), written.to).origin)
      : null;
  if (strange !== null) report("verify", strange);
  if (all.unknown === "verify" && all.verify?.state !== undefined) {
    report(
      "verify",
      'asks about the state of a resource, which only requests can: write "/v1/payments/by-key/{key}", or unknown = "hold"',
    );
  }
  const { binding } = written.dead_letter;
  if (!hasBinding(binding, "queue")) {
    report(
      "dead_letter.binding",
      `there is no queue binding "${binding}": write [[queues.producers]] with binding = "${binding}", or the name of one that exists`,
    );
  }
  for (const { name: header, value } of written.headers ?? QUEUE_DEFAULTS.headers) {
    if (value.kind === "text" || hasBinding(value.secret, "secret")) continue;
    report(
      `headers.${header}`,
      `there is no secret ${value.secret}: write it with npx wrangler secret put ${value.secret}`,
    );
  }
  return problems;
}

/** What can be deployed but is probably a mistake. */
export function queueWarnings({ name, route, giveUpAfterMs, hasIdAsKey }: Queue): readonly ConfigProblem[] {
  const warnings: ConfigProblem[] = [];
  if (hasIdAsKey) {
    const message =
      '"id" is the message\'s own: a producer that sends its message twice makes two messages with two ids, and both take effect: ' +
      'write where the body names the operation, such as key = ["json:/id"]';
    warnings.push({ path: `${name}.key`, message });
  }
  const { retentionMs } = route.rules.policy;
  if (retentionMs < MAX_QUEUE_RETENTION_MS && giveUpAfterMs >= DEFAULT_QUEUE_RETENTION_MS) {
    const message =
      `is ${formatDuration(giveUpAfterMs)}, but a queue deletes its messages after 4 days by default, without a dead letter: ` +
      'keep messages longer (npx wrangler queues update), or write give_up = { after = "24h" }';
    warnings.push({ path: `${name}.give_up.after`, message });
  }
  return warnings;
}

/** The host under which a binding is called if the configuration names none. It exists nowhere (RFC 6761, section 6.4). */
export const NO_HOST = "https://origin.invalid";

/** Where messages go: `to` as a URL is its own origin, unless a binding is called. */
export function targetOf(origin: Origin, to: string): { readonly origin: Origin; readonly url: string } {
  if (!to.startsWith("/")) {
    const { href, origin: base } = new URL(to);
    return {
      origin: origin.kind === "binding" || origin.kind === "entrypoint" ? origin : { kind: "url", url: base },
      url: href,
    };
  }
  const { pathname, search } = new URL(to, NO_HOST);
  const base = origin.kind === "url" ? origin.url : NO_HOST;
  return { origin, url: base + pathname + search };
}
