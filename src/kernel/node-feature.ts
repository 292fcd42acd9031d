// What a feature is in Node: its commands, and the declarations from which the JSON Schema, the tables of settings and the checks of
// a wrangler.toml are made. Plain data as far as it can be. Must never be imported by the Worker.

import type { Command } from "commander";
import type { GenericSchema } from "valibot";

import type { SettingEntries } from "./config/setting-kinds.ts";

export interface NodeFeature {
  /** That of its folder. */
  readonly name: string;
  /** Its commands, among those that talk to a running gateway. */
  readonly commands?: readonly NodeCommand[];
  /** The variable that it reads besides `IDEMPOTENCY` and `ROUTES`. */
  readonly variable?: NodeVariable;
  /** Its settings of routes that are tables, by their names, with the members that follow them in the table of settings. */
  readonly tables?: Readonly<Record<string, SettingEntries>>;
}

export interface NodeCommand {
  readonly name: string;
  /** Which command it follows where they are listed. */
  readonly after: string;
  readonly define: (command: Command) => void;
}

/** A variable of the gateway, as the JSON Schema and a README.md describe its entries. */
export interface NodeVariable {
  /** `QUEUES`. */
  readonly name: string;
  /** `list`: `[[vars.QUEUES]]`, which goes on in `QUEUES_2`; `table`: `[vars.IDENTITIES.NAME]`; `single`: `[vars.ACCESS]`. */
  readonly form: "list" | "table" | "single";
  /** What its entries are called. */
  readonly entries: string;
  /** Whether an entry protects something, so that the gateway has work without any route. */
  readonly protects: boolean;
  /** What the JSON Schema calls one entry, and says of it. */
  readonly definition: string;
  readonly description: string;
  readonly schema: GenericSchema;
  /** Its settings in the order of the table: those that every entry needs, then the others. */
  readonly needed: Readonly<Record<string, GenericSchema>>;
  readonly optional: SettingEntries;
  /** Settings that mean the same in routes: described for editors, and not in the table. */
  readonly inherited?: SettingEntries;
  /** Its settings that are tables, with the members that follow them. */
  readonly tables?: Readonly<Record<string, SettingEntries>>;
  /** Where its table is: between two lines with this name. */
  readonly readme: URL;
  readonly table: string;
}
