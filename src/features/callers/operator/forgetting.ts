// Forgetting all records of one caller, as the API and the console ask for it: over the objects that keep them, and audited.

import { layoutName } from "../../../kernel/config/layout.ts";
import { parseScopeEntry } from "../../../kernel/config/scope-part.ts";
import { askObject, shardStub } from "../../../kernel/object/call-shard.ts";
import type { WorkerKernel } from "../../../kernel/worker-feature.ts";
import type { Actor } from "../../../operator/access/auth.ts";
import { unlessSilent } from "../../../operator/ask-shards.ts";
import type { AuditLog } from "../../../operator/audited.ts";
import type { ScopeErasedView } from "./callers-schema.ts";
import { ERASE_SCOPE_CALL } from "../object/eraser.ts";
import { eraseScope } from "./erase-scope.ts";
import { fittingScopes, namedScopes } from "./request.ts";

/** Which caller's records to forget. */
export interface ScopeForgetting {
  /** The value of each part; `null`: the caller's requests lack it. */
  readonly scope: ReadonlyMap<string, string | null>;
  readonly by: Actor;
  /** Written to the log. */
  readonly reason: string;
  readonly isPreview: boolean;
  readonly includesUnknown: boolean;
  /** From the result before; `null`: from the beginning. */
  readonly cursor: string | null;
}

export type ScopeForgetResult =
  | ({ readonly kind: "done" } & ScopeErasedView)
  /** No route has or had a scope of these parts; `scopes` are those that there are. */
  | { readonly kind: "no-scope"; readonly scopes: readonly (readonly string[])[] }
  | { readonly kind: "no-cursor" };

/** Forgets some of a caller's records, shard by shard: continue with the cursor until it is `null`. */
export type ScopeForgetter = (forgetting: ScopeForgetting) => Promise<ScopeForgetResult>;

export function scopeForgetter({
  namespace,
  directory,
  routes,
  encryptions,
}: Pick<WorkerKernel, "namespace" | "directory" | "routes" | "encryptions">): ScopeForgetter {
  return async ({ scope, cursor, by: { name: by }, ...forgetting }) => {
    const scopes = fittingScopes(routes, scope);
    if (scopes.length === 0) return { kind: "no-scope", scopes: namedScopes(routes) };
    const scopeDigests = (await Promise.all(scopes.map((one) => encryptions.scopeDigests(one)))).flat();
    const { layouts, listed } = directory;
    const names = new Map(layouts.map(({ title, layout }) => [title, layoutName(layout)]));
    const erased = await eraseScope(listed, { ...forgetting, by, scopes, scopeDigests }, cursor, (address, erasure) => {
      const slice = { ...erasure, layout: names.get(address.layout) ?? address.layout };
      return unlessSilent(address, askObject(shardStub(namespace, address), ERASE_SCOPE_CALL, slice));
    });
    if (erased === null) return { kind: "no-cursor" };
    const { isPreview, reason } = forgetting;
    if (!isPreview) {
      // Without the values. Which records it were is not said either: an id is a digest of them.
      const { unreachable, cursor: _, ...counts } = erased;
      const parts = [...scope.keys()];
      console.warn({ message: "scope forgotten", parts, by, reason, ...counts, unreachable });
    }
    return { kind: "done", ...erased, notListed: directory.notListed };
  };
}

/** A preview forgets nothing, so the log has nothing of it. */
export function auditedForgetter(inner: ScopeForgetter, audit: AuditLog): ScopeForgetter {
  return (forgetting) =>
    forgetting.isPreview
      ? inner(forgetting)
      : audit.record(
          forgetting.by,
          "forget-scope",
          { target: [...forgetting.scope.keys()].map(partName).join(), reason: forgetting.reason },
          () => inner(forgetting),
          (result) =>
            result.kind === "done"
              ? `done: ${result.forgotten} records, ${result.events} events`
              : `refused: ${result.kind}`,
        );
}

/** Without the value, which is the caller's credential. Where no part can have this name, it may be one that was typed in the wrong address. */
function partName(name: string): string {
  return parseScopeEntry(name).ok ? name : "(no part of a scope)";
}
