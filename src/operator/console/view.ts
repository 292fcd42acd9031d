// What the console works with: the parts of the gateway that it needs, who is signed in, the time, and its own addresses.

import type { Tokens } from "../../config/read-tokens.ts";
import type { RecordId } from "../../core/units.ts";
import type { OperatorAuth, Role } from "../auth.ts";
import type { Operator } from "../operator.ts";
import { SCRIPT, STYLE } from "./assets.ts";
import type { OutcomeCount } from "./traffic.ts";

export interface ConsolePorts {
  /** Where operators come in: `/_onceway`. */
  readonly basePath: string;
  readonly operator: Operator;
  /** What the routes' requests came to, since the counters started. */
  readonly traffic: () => Promise<readonly OutcomeCount[]>;
  /** The configured routes' paths. */
  readonly routes: readonly string[];
  readonly tokens: Tokens;
  /** The API's own: wrong tokens count together, wherever they are tried. */
  readonly auth: OperatorAuth;
}

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

/** The fields of a form. Files are left out, and an invalid form has no fields. */
export async function textFields(request: Request): Promise<Readonly<Record<string, string>>> {
  const form = await request.formData().catch(() => new FormData());
  return Object.fromEntries([...form].flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])));
}
