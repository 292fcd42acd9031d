// What an object keeps for the outbox: the events that are still to be relayed, and the alerts that were sent. Each has its own tables, made with
// their first row.

import type { LaterTables } from "../../../kernel/store/schema.ts";
import { AlertRows } from "./alert-rows.ts";
import { OutboxList } from "./list.ts";
import { OutboxRows } from "./rows.ts";

export class OutboxStore {
  readonly events: OutboxRows;
  /** The same events, for operators. */
  readonly list: OutboxList;
  readonly alerts: AlertRows;

  constructor(tables: LaterTables) {
    this.events = new OutboxRows(tables);
    this.list = new OutboxList(tables, this.events);
    this.alerts = new AlertRows(tables, this.events);
  }
}
