// The addresses of origins that could once be connected to: what makes a failing `connect` mean something, also for an
// isolate that begins when the origin is down.

import type { Sql } from "./migrations.ts";

export class Addresses {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  has(address: string): boolean {
    return this.#sql.exec("SELECT 1 FROM addresses WHERE address = ?", address).toArray().length > 0;
  }

  add(address: string): void {
    this.#sql.exec("INSERT OR IGNORE INTO addresses (address) VALUES (?)", address);
  }
}
