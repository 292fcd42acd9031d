// In which scopes a request is: the one in force, and the older ones that its route still knows; and what the records of its key are called there.

import { layoutName } from "../config/layout.ts";
import type { ClientProblem } from "../record/problem.ts";
import type { RecordId } from "../record/units.ts";
import { forwardedHost, requestedHost } from "./host.ts";
import type { ExchangeIntent } from "./intent.ts";
import type { NamesIn, RecordName } from "./message.ts";
import type { AskedMonitor } from "./monitor-url.ts";
import { contentScope, isWholeScope, nameRecord } from "./record-name.ts";
import { callerLane, type CallerProofs, type JsonParts, readScope, type ScopeValues, UNREAD } from "./scope.ts";

/** Names the record of a key for its caller: in the scope, then in the older ones. */
export function namerOf(key: string, { scope, olderScopes }: Omit<ReadScopes, "lane">): NamesIn {
  return async (layout) => {
    const nameIn = (values: ScopeValues): Promise<RecordId> => nameRecord(key, values, layoutName(layout));
    return [await nameIn(scope), ...(olderScopes.length === 0 ? [] : await Promise.all(olderScopes.map(nameIn)))];
  };
}

/** A record by its names: its own, then those of older scopes. */
export function recordNames([id, ...olderIds]: Awaited<ReturnType<NamesIn>>): Pick<RecordName, "id" | "olderIds"> {
  return olderIds.length === 0 ? { id } : { id, olderIds };
}

export interface ReadScopes {
  readonly scope: ScopeValues;
  readonly olderScopes: readonly ScopeValues[];
  /** Whose turn the request takes (kernel/record/lanes.ts). */
  readonly lane: number;
}

/** A request, or a question about one. `path`: that of the request in question, if it is not this one's own. */
export interface ScopedRequest extends Pick<ExchangeIntent, "headers" | "url" | "route"> {
  readonly path?: string;
}

/**
 * The request's scope and its older ones. Without `json` the parts in its body count as missing. A request that an older scope cannot tell was refused there, so it has no record there; but if
 * only nobody can say now who its caller was there, it may have one.
 */
export function readScopes(
  { headers, url, route, path = url.pathname }: ScopedRequest,
  proofs: CallerProofs,
  json: JsonParts = UNREAD,
): ReadScopes | { readonly problem: ClientProblem } {
  const [host, seen] = [requestedHost(url), forwardedHost(url, headers, route)];
  const request = { path, json };
  const scope = readScope(headers, host, route.scope, proofs, seen, request);
  if ("problem" in scope) return scope;
  const olderScopes: ScopeValues[] = [];
  for (const parts of route.previousScopes) {
    const older = readScope(headers, host, parts, proofs, seen, request);
    if ("values" in older) olderScopes.push(older.values);
    else if (older.problem.code === "identity-unavailable") return older;
  }
  return { scope: scope.values, olderScopes, lane: callerLane(scope.values, headers) };
}

/**
 * The same scopes for a key that is made from content. In an older scope that does not tell the caller from strangers, no such key has ever been made.
 */
export function contentScopes<Scopes extends Omit<ReadScopes, "lane">>(scopes: Scopes): Scopes {
  const olderScopes = scopes.olderScopes.filter(isWholeScope).map(contentScope);
  return { ...scopes, scope: contentScope(scopes.scope), olderScopes };
}

/** The scopes in which a key is asked about; `null`: strangers would share it, so there is none. */
export function askedScopes(
  scopes: ReadScopes,
  { isFromContent }: Pick<AskedMonitor, "isFromContent">,
): ReadScopes | null {
  if (!isFromContent) return scopes;
  return isWholeScope(scopes.scope) ? contentScopes(scopes) : null;
}
