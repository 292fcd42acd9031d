// Whether an object belongs to a layout that nobody places, by the Worker's variables as they are written: an object reads no configuration, which would
// cost more than all else that it does. Where routes with the same objects differ, the object enrols, because one that is not in the register would not
// be seen.

import { variablesOf } from "../../../kernel/config/read-tables.ts";
import { isTable, readJsonVariable, type SettingsTable, tablesOf } from "../../../kernel/config/table.ts";
import { JURISDICTIONS, LOCATION_HINTS } from "../../../kernel/config/words.ts";
import type { ShardAddress } from "../../../kernel/object/shard-address.ts";

export interface FirstUseObject {
  /** The title of its layout. */
  readonly layout: string;
  readonly number: number;
  /** The operators' object. */
  readonly register: ShardAddress;
}

const NUMBERED = /^shard-(\d+)-of-(.+)$/;

/** Lists whose entries have records. */
const LISTS = ["ROUTES", "QUEUES", "CONSUMERS"];

const USUAL_SHARDS = 64;

/** `null`: it does not enrol. */
export function firstUseObject(env: Readonly<Record<string, unknown>>, name: string): FirstUseObject | null {
  const [, number, shards] = NUMBERED.exec(name) ?? [];
  if (number === undefined || shards === undefined) return null;
  const defaults = tableIn(env["IDEMPOTENCY"]);
  const entries = LISTS.flatMap((list) => variablesOf(env, list)).flatMap((variable) =>
    tablesOf(jsonIn(env[variable])),
  );
  const isOwn = (entry: SettingsTable): boolean => {
    const { shards: its = USUAL_SHARDS, location_hint: hint, jurisdiction } = { ...defaults, ...entry };
    return String(its) === shards && hint === "first-use" && jurisdiction === undefined;
  };
  if (!entries.some(isOwn)) return null;
  const { location_hint: hint, jurisdiction } = defaults;
  const register = {
    name: "operators",
    jurisdiction: JURISDICTIONS.find((one) => one === jurisdiction) ?? null,
    locationHint: LOCATION_HINTS.find((one) => one === hint) ?? null,
  };
  return { layout: shards, number: Number(number), register };
}

function tableIn(variable: unknown): SettingsTable {
  const value = jsonIn(variable);
  return isTable(value) ? value : {};
}

function jsonIn(variable: unknown): unknown {
  const read = readJsonVariable(variable);
  return read.ok ? read.value : null;
}
