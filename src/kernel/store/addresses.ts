// What is known of the addresses of origins, beyond the life of an isolate.

import type { LedgerSql } from "./schema.ts";

/**
 * Origin addresses to which a `connect` has succeeded once. Only for these does a failed `connect` mean that the origin is down.
 * They are stored so that an isolate that starts during an outage knows them too.
 */
export class AddressRows {
  readonly #sql: LedgerSql;

  constructor(sql: LedgerSql) {
    this.#sql = sql;
  }

  has(address: string): boolean {
    return this.#sql.exec("SELECT 1 FROM addresses WHERE address = ?", address).toArray().length > 0;
  }

  add(address: string): void {
    this.#sql.exec("INSERT OR IGNORE INTO addresses (address) VALUES (?)", address);
  }
}
