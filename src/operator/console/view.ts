// What every page is rendered with: who looks, when, and where things are.

import type { RecordId } from "../../core/units.ts";
import type { Role } from "../auth.ts";
import { SCRIPT, STYLE } from "./assets.ts";

/** Who is signed in. */
export interface Viewer {
  readonly role: Role;
  /** Every form that changes something carries it. */
  readonly formToken: string;
}

export interface View {
  readonly paths: Paths;
  readonly viewer: Viewer;
  /** The server's time, to which all durations refer. */
  readonly now: number;
}

export type Paths = ReturnType<typeof pathsBelow>;

/** The console's addresses. What the API serves lies beside them. */
export function pathsBelow(base: string) {
  const console = `${base}/console`;
  const record = (id: RecordId): string => `${console}/records/${id}`;
  return {
    overview: base,
    records: `${console}/records`,
    shards: `${console}/shards`,
    signIn: `${console}/sign-in`,
    signOut: `${console}/sign-out`,
    signOutEverywhere: `${console}/sign-out-everywhere`,
    style: `${console}/${STYLE.name}`,
    script: `${console}/${SCRIPT.name}`,
    record,
    body: (id: RecordId): string => `${record(id)}/body`,
    change: (id: RecordId, action: string): string => `${record(id)}/${action}`,
    listed: (query: Readonly<Record<string, string>>): string =>
      `${console}/records?${new URLSearchParams(query).toString()}`,
  };
}
