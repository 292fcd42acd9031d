// The bindings of the Worker that are not settings, and their types. The types come from the configuration alone: a binding's
// methods cannot be inspected at run time (platform rule).

import type { Fetcher } from "../request/pass-through.ts";
import type { AnalyticsDataset } from "../traffic/exchange-reporter.ts";
import type { RateLimiter } from "../new-keys/new-keys.ts";

interface OwnBindings {
  readonly KEY_SHARD: DurableObjectNamespace;
  /** For bodies that are too large for the store. */
  readonly BODIES: R2Bucket;
  /** Receives a data point for each exchange. */
  readonly METRICS: AnalyticsDataset;
}

/** Any other binding that the configuration names is an origin. */
type BindingOf<Name extends string> = Name extends keyof OwnBindings ? OwnBindings[Name] : Fetcher;

type Env = Readonly<Record<string, unknown>>;

/** The rate limit binding of this name; `null` when it does not exist. */
export function limiterIn(env: Env, name: string): RateLimiter | null {
  return hasLimiter(env, name) ? (env[name] ?? null) : null;
}

function hasLimiter(env: Env, name: string): env is Readonly<Record<string, RateLimiter>> {
  return typeof env[name] === "object";
}

/** The binding of this name; `null` when it does not exist. */
export function bindingIn<Name extends string>(env: Env, name: Name): BindingOf<Name> | null {
  return hasBinding(env, name) ? env[name] : null;
}

/**
 * The class of this name among the Worker's own exports, called as another Worker is: whatever becomes of the caller, it runs on, and no request from
 * outside reaches it (Workers documentation, "ctx.exports"). `null` when there is none.
 */
export function entrypointIn(own: object, name: string): Fetcher | null {
  return hasEntrypoint(own, name) ? (own[name] ?? null) : null;
}

function hasEntrypoint(own: object, name: string): own is Readonly<Record<string, Fetcher>> {
  const value: unknown = Reflect.get(own, name);
  return (typeof value === "object" || typeof value === "function") && value !== null;
}

function hasBinding<Name extends string>(env: Env, name: Name): env is Env & Readonly<Record<Name, BindingOf<Name>>> {
  const binding = env[name];
  return typeof binding === "object" && binding !== null;
}
