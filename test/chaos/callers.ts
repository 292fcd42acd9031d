// The callers of the route whose requests take turns. The route's scope is a credential that nobody verifies, so whose turn it is depends
// on the address alone, and the flooder shows another credential with each request.

import type { HeaderPair } from "../support/http.ts";
import { TURNS_PATH } from "./routes.ts";

export const FLOODER = "Bearer flood";
/** They come in turn, so that each has its result long before it comes again. A test holds that all are in different lanes. */
export const LANE_CALLERS = [
  "Bearer amber",
  "Bearer cedar",
  "Bearer daisy",
  "Bearer ginger",
  "Bearer hazel",
  "Bearer kale",
  "Bearer laurel",
  "Bearer maple",
  "Bearer nettle",
  "Bearer olive",
  "Bearer willow",
  "Bearer yarrow",
] as const;

/** The scope's caller: that of the flooder's requests is different each time. */
export function callerOf(scope: string): string {
  return scope.startsWith(FLOODER) ? FLOODER : scope;
}

/** The last numbers of their addresses: each is in another lane. */
const HOSTS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 14, 21, 28];

/** What Cloudflare, or the proxy of a gateway elsewhere, says of the client's address. Only on this route. */
export function addressHeaders(path: string, scope: string): readonly HeaderPair[] {
  if (path !== TURNS_PATH) return [];
  const nth = [FLOODER, ...LANE_CALLERS].indexOf(callerOf(scope));
  return [["CF-Connecting-IP", `192.0.2.${HOSTS[nth] ?? 250}`]];
}
