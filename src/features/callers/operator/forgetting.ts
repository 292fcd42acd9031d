// Forgetting all records of one caller, as the API and the console ask for it: over the objects that keep them, and audited.

import { layoutName } from "../../../kernel/config/layout.ts";
import { parseScopeEntry } from "../../../kernel/config/scope-part.ts";
import { askObject, shardStub } from "../../../kernel/object/call-shard.ts";
import type { WorkerKernel } from "../../../kernel/worker-feature.ts";
import { unlessSilent } from "../../../operator/ask-shards.ts";
import { auditedAction, type AuditedAction } from "../../../operator/audited.ts";
import { type AskedOf, operatorAction } from "../../../operator/operator-action.ts";
import type { ScopeErasedView } from "./callers-schema.ts";
import { ERASE_SCOPE_CALL } from "../object/eraser.ts";
import { eraseScope } from "./erase-scope.ts";
import { fittingScopes, givenScope, namedScopes, noScopeText } from "./request.ts";
import { FORGET_SCOPE } from "./scope-request-schema.ts";

const NO_CURSOR = "cursor must come from the call before, and the shards must not have changed since: start again.";

/** Forgets some of a caller's records, shard by shard: continue with the cursor until it is `null`. */
export type ScopeForgetter = AuditedAction<AskedOf<typeof forgetScope>, ScopeErasedView>;

const forgetScope = operatorAction({
  ...FORGET_SCOPE,
  target: ({ scope }) => [...givenScope(scope).keys()].map(shownName).join(),
});

/** Without the value, which is the caller's credential. Where no part can have this name, it may be one that was typed in the wrong address. */
function shownName(name: string): string {
  return parseScopeEntry(name).ok ? name : "(no part of a scope)";
}

export function scopeForgetter({
  namespace,
  directory,
  routes,
  encryptions,
  audit,
}: Pick<WorkerKernel, "namespace" | "directory" | "routes" | "encryptions" | "audit">): ScopeForgetter {
  return auditedAction(forgetScope, audit, async ({ scope: written, cursor, ...forgetting }, { name: by }) => {
    const scope = givenScope(written);
    const scopes = fittingScopes(routes, scope);
    // No route has or had a scope of these parts.
    if (scopes.length === 0) return { kind: "refused", why: "no-scope", reason: noScopeText(namedScopes(routes)) };
    const scopeDigests = (await Promise.all(scopes.map((one) => encryptions.scopeDigests(one)))).flat();
    const { layouts, listed } = directory;
    const names = new Map(layouts.map(({ title, layout }) => [title, layoutName(layout)]));
    const erased = await eraseScope(listed, { ...forgetting, by, scopes, scopeDigests }, cursor, (address, erasure) => {
      const slice = { ...erasure, layout: names.get(address.layout) ?? address.layout };
      return unlessSilent(address, askObject(shardStub(namespace, address), ERASE_SCOPE_CALL, slice));
    });
    if (erased === null) return { kind: "refused", why: "no-cursor", reason: NO_CURSOR };
    const { isPreview, reason } = forgetting;
    if (!isPreview) {
      // Without the values. Which records it were is not said either: an id is a digest of them.
      const { unreachable, cursor: _, ...counts } = erased;
      const parts = [...scope.keys()];
      console.warn({ message: "scope forgotten", parts, by, reason, ...counts, unreachable });
    }
    return {
      kind: "done",
      view: { ...erased, notListed: directory.notListed },
      gist: `${erased.forgotten} records, ${erased.events} events`,
    };
  });
}
