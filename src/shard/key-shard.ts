// The Durable Object: one shard, many records. It only wires: the ledger and the alarm to the exchanges, the exchanges
// to what calls the object. Exchanges come by `fetch` to one fixed URL, operator calls through itty-durable's stub;
// both are made by this Worker alone, from parts that no client chooses.

import type { IdempotencyRecord } from "../core/record.ts";
import { epochMs, recordId } from "../core/units.ts";
import { decodeMessage, type ExchangeHead } from "../http/message.ts";
import type { Fetcher } from "../http/pass-through.ts";
import { Alarm } from "./alarm.ts";
import { Exchanges } from "./exchange.ts";
import { isOperatorCall, ittyDurable } from "./itty.ts";
import { Ledger } from "./ledger.ts";
import { originTarget } from "./origin-target.ts";
import { Reachability } from "./reachability.ts";

/** The one URL to which exchanges are sent. */
export const EXCHANGE_URL = "https://key-shard/exchange";

/** The methods that an operator calls; no other can be called from outside the object. */
const OPERATOR_CALLS = ["inspect"];

/** Records erased in one turn: few enough that no request waits long behind it (README, measured numbers). */
const ERASE_SLICE = 500;

/** How long the alarm waits after its work failed. */
const ALARM_RETRY_MS = 5000;

/** What is known of the origins is no secret of one shard: all that share an isolate learn from each other. */
const reachability = new Reachability();

export class KeyShard extends ittyDurable() {
  readonly #ledger: Ledger;
  readonly #alarm: Alarm;
  readonly #exchanges: Exchanges;

  constructor(state: DurableObjectState, env: Readonly<Record<string, unknown>>) {
    super(state, {});
    const target = (head: ExchangeHead): Fetcher | null => originTarget(head.call.origin, env);
    this.#ledger = new Ledger(state.storage);
    this.#alarm = new Alarm(state.storage, () => this.#ledger.nextDeadline());
    this.#exchanges = new Exchanges(this.#ledger, this.#alarm, target, reachability, (promise) => {
      state.waitUntil(promise);
    });
  }

  override async fetch(request: Request): Promise<Response> {
    if (isOperatorCall(request, OPERATOR_CALLS)) return super.fetch(request);
    if (request.url !== EXCHANGE_URL) throw new TypeError("a shard takes exchanges and operator calls only");
    return this.#exchanges.run(decodeMessage(new Uint8Array(await request.arrayBuffer())));
  }

  /** Ends locks, erases what has expired, and sets itself anew. It never fails: the platform drops an alarm that does. */
  alarm(): void {
    const now = epochMs(Date.now());
    try {
      this.#exchanges.endLocks(now);
      this.#ledger.erase(now, ERASE_SLICE);
      this.#alarm.rearm();
    } catch (error) {
      console.error({ message: "alarm failed", reason: String(error) });
      this.#alarm.retryAt(epochMs(now + ALARM_RETRY_MS));
    }
  }

  /** Operator call: one record as it is stored, or `null`. */
  inspect(id: string): IdempotencyRecord | null {
    return this.#ledger.find(recordId(id))?.record ?? null;
  }
}
