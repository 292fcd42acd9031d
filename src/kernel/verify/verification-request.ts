// The request that asks the origin whether an attempt took effect, for requests and for messages of queues: where it goes, with the key
// as the origin got it, and how long it may take.

import type { Route } from "../config/resolved.ts";
import { isPlainInPath } from "../record/verification-answer.ts";
import type { HeaderPairs } from "../request/headers.ts";
import type { Verification } from "../request/message.ts";
import { FORWARDED_NAMES } from "../request/host.ts";
import { originUrl } from "../request/origin.ts";
import { KEY_IN_URL } from "../request/origin-key.ts";

/** A verification is made within the life of a request or an alarm; the platform gives an alarm 15 minutes in all. */
export const MAX_VERIFICATION_MS = 30_000;

/** The key that the origin gets for a step of the operation. */
export function withStep(key: string, step: string): string {
  return `${key}:${step}`;
}

/** The key as the origin knows the operation. */
export function originKeyText({ forwardKey }: Pick<Route, "forwardKey">, key: string): string {
  return forwardKey.kind === "step" ? withStep(key, forwardKey.step) : key;
}

/**
 * `null` when the route has no verification by key, or when this key cannot be part of a path. `url` is that of the request or the message;
 * `headers` are made only if there is a verification.
 */
export function verificationRequest(
  route: Route,
  key: string,
  url: string | URL,
  headers: () => HeaderPairs,
): Verification | null {
  const { verify, origin, rules } = route;
  if (verify === null || verify.state !== undefined) return null;
  const originKey = originKeyText(route, key);
  if (!isPlainInPath(originKey)) return null;
  const target = verify.target.replaceAll("{key}", KEY_IN_URL);
  const isPath = target.startsWith("/");
  const keyed = isPath ? originUrl(origin, new URL(target, url)) : target;
  const asked = keyed.replaceAll(KEY_IN_URL, encodeURIComponent(originKey));
  return {
    origin: isPath ? origin : { kind: "url", url: asked },
    url: asked,
    keyed,
    headers: verify.headers === null ? headers() : listed(headers(), verify.headers),
    timeoutMs: Math.min(rules.timeoutMs, MAX_VERIFICATION_MS),
    idleTimeoutMs: Math.min(rules.idleTimeoutMs, MAX_VERIFICATION_MS),
    maxBytes: rules.maxResponseBodyBytes,
  };
}

/** What the gateway itself says of a request; the client's own headers only as far as another host may have them. */
function listed(headers: HeaderPairs, names: readonly string[]): HeaderPairs {
  return headers.filter(([name]) => names.includes(name.toLowerCase()) || FORWARDED_NAMES.has(name.toLowerCase()));
}
