// Opens the console from the demo's page, signed in. The demo knows the gateway's ADMIN_TOKEN, exchanges it for a session as the sign-in
// form does, and hands the browser the session's cookie: cookies belong to a host whatever the port (RFC 6265, section 8.5), and both
// are on loopback. The token itself reaches neither page nor address.

import * as v from "valibot";

export interface ConsoleAccess {
  /** Relative to the gateway. */
  readonly path: string;
  readonly cookie: string;
}

const listSchema = v.object({ records: v.array(v.object({ id: v.string() })) });

const CONSOLE = "/_onceway";

/** To the page of the record that `key` names, or to the overview if there is none. Throws if the gateway does not answer as it should. */
export async function consoleLink(gateway: string, adminToken: string, key: string | null): Promise<ConsoleAccess> {
  const id = key === null ? null : await idOf(gateway, adminToken, key);
  const next = id === null ? CONSOLE : `${CONSOLE}/console/records/${id}`;
  const response = await fetch(`${gateway}${CONSOLE}/console/sign-in`, {
    method: "POST",
    redirect: "manual",
    // As its own form sends it.
    headers: { Origin: new URL(gateway).origin },
    body: new URLSearchParams({ "operator-token": adminToken, next }),
  });
  await response.body?.cancel();
  const [cookie] = response.headers.getSetCookie();
  const path = response.headers.get("Location");
  if (response.status !== 303 || cookie === undefined || path === null) {
    throw new Error(`the console answers a sign-in with ${response.status}`);
  }
  return { path, cookie };
}

async function idOf(gateway: string, adminToken: string, key: string): Promise<string | null> {
  const query = new URLSearchParams({ key, limit: "1" });
  const response = await fetch(`${gateway}${CONSOLE}/records?${query.toString()}`, {
    headers: { Authorization: `Bearer ${adminToken}` },
  });
  return v.parse(listSchema, await response.json()).records[0]?.id ?? null;
}
