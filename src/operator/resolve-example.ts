// Finds what the form for a response is filled in with: a recent success on the same route. Its body is another request's, perhaps another
// caller's: it is read only when an administrator asks for it, which the audit log notes. Encrypted records neither give an example nor get one.

import { FEWEST_CALLS } from "./list-groups.ts";
import { isSuccessStatus } from "../kernel/record/verdict.ts";
import { ExpiringCache } from "../kernel/request/expiring-cache.ts";
import { firstOf } from "../kernel/request/first-of.ts";
import type { Actor } from "./access/auth.ts";
import type { Operator, RecordDetail, RecordSummary } from "./operator.ts";
import { type ExampleResponse, exampleIn } from "./example-response.ts";

/** A page that shows a form refreshes every two seconds, and what a route answers seldom changes. */
const STANDS_MS = 60_000;
/** A shard that does not answer must not delay the page: then the form is not filled in. */
const WAIT_MS = 1000;
/** How many records are listed, and how many of their responses are looked at. */
const LISTED = 20;
const LOOKED_AT = 3;

export class ExampleFinder {
  readonly #operator: Operator;
  readonly #found = new ExpiringCache<{ readonly example: ExampleResponse | null }>();

  constructor(operator: Operator) {
    this.#operator = operator;
  }

  /** For the form of this record; `null`: there is none, or nothing to fill in. */
  async of(record: RecordDetail, { role }: Actor, now: number): Promise<ExampleResponse | null> {
    const isOpen = record.state === "unknown" || record.state === "failed" || record.state === "waiting";
    if (role !== "admin" || !isOpen || record.encrypted || this.#operator.isPerKey) return null;
    const method = record.request?.method ?? null;
    const { example } = await this.#found.getOr(`${method ?? ""} ${record.route}`, now, STANDS_MS, async () => {
      const found = this.#find(record.route, method).catch(() => null);
      return { example: (await firstOf(found, WAIT_MS)) ?? null };
    });
    return example;
  }

  /** The example's body as text, which is audited as any reading of a body; `null`: it is none, or gone. */
  async text({ id, hasText }: ExampleResponse, by: Actor): Promise<string | null> {
    const body = hasText ? await this.#operator.body(id, by) : null;
    if (body === null) return null;
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await new Response(body).bytes());
    } catch {
      return null;
    }
  }

  async #find(route: string, method: string | null): Promise<ExampleResponse | null> {
    const filter = { states: ["completed"], route, since: null, until: null, key: null, idPrefix: null } as const;
    const page = await this.#operator.list(filter, LISTED, null, [], FEWEST_CALLS);
    const latest = (page?.records ?? []).filter(
      (record) => mayBeExample(record) && (method === null || record.request?.method === method),
    );
    for (const { id } of latest.slice(0, LOOKED_AT)) {
      // oxlint-disable-next-line no-await-in-loop -- usually the first is one
      const record = await this.#operator.inspect(id);
      const example = record === null ? null : exampleIn(record);
      if (example !== null) return example;
    }
    return null;
  }
}

function mayBeExample({ encrypted, status, responseKept }: RecordSummary): boolean {
  return !encrypted && responseKept === true && status !== null && isSuccessStatus(status);
}
