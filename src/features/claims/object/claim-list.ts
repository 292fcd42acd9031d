// The claims and positions of one shard for operators: counted by group, and listed by partition, page by page. Reads the claims that are
// not completed, among at most MAX_CLAIMS_COUNTED records of each kind.

import type { Position } from "../../../kernel/record/events.ts";
import { nextPosition, type StoredPosition, type OffsetRange, withClaim } from "../../../kernel/record/position.ts";
import { type EpochMs, epochMs } from "../../../kernel/record/units.ts";
import type { TimelineEvent } from "../../../kernel/record/timeline.ts";
import { claimedPosition, type GroupPartition, type PositionRows } from "./position-rows.ts";
import { IS_IN_FLIGHT } from "../../../kernel/store/record-numbers.ts";
import { readHistory } from "../../../kernel/store/record-row.ts";
import type { LedgerSql } from "../../../kernel/store/schema.ts";

/** Claims that are not completed: their attempt runs, or has ended without a result. */
export const OPEN_CLAIM_STATES = ["started", "failed", "unknown"] as const;
export type OpenClaimState = (typeof OPEN_CLAIM_STATES)[number];

/** Of one group, here. */
export interface GroupCounts extends Readonly<Record<OpenClaimState, number>> {
  /** The group's name among routes. */
  readonly route: string;
  /** Whether there may be more claims. */
  readonly atLeast: boolean;
  /** Partitions that have a position, or a claim that is not completed. */
  readonly partitions: number;
  /** When the claim was first granted that holds back a position longest; `null`: none does. */
  readonly heldSince: EpochMs | null;
}

/** Small, because it travels in a header (see itty.ts). */
export interface PositionQuery {
  /** `null`: all groups. */
  readonly route: string | null;
  /** The partition before; `null`: from the beginning. */
  readonly after: GroupPartition | null;
  readonly limit: number;
}

/** What is known here of a partition. */
export interface SeenPosition extends GroupPartition {
  readonly next: number | null;
  /** Claims that are not completed. */
  readonly open: number;
  /** When the claim was first granted at which the position stands; `null`: it stands at none. */
  readonly heldSince: EpochMs | null;
  /** Whether it stands at a message that was never claimed, although a later one was. */
  readonly isUnclaimed: boolean;
}

/** Rows of each kind that one call looks at: requests wait meanwhile. */
export const MAX_CLAIMS_COUNTED = 10_000;

/** Claims that are not completed, in one partition. */
interface OpenPartition extends GroupPartition {
  readonly count: number;
  readonly lowest: number;
  readonly claims: readonly Pick<Position, "offset" | "previous">[];
  /** Of the lowest. */
  readonly since: EpochMs;
}

/**
 * Those in flight lie in a bucket of their own, the others in an index. Records of requests are among them, so it is the rows that are
 * looked at which are bounded, and only claims are read.
 */
const PLACES = [
  `FROM records WHERE ${IS_IN_FLIGHT}`,
  "FROM records INDEXED BY records_open WHERE state IN ('failed', 'unknown')",
];
const COUNT_QUERIES = PLACES.map((place) => `SELECT count(*) AS looked FROM (SELECT 1 ${place} LIMIT +?)`);
const OPEN_QUERIES = PLACES.map(
  (place) =>
    `SELECT route, state, started_at, expires_at, history FROM records WHERE number IN (SELECT number FROM (SELECT number, route ${place} LIMIT +?) WHERE route >= 'claims:' AND route < 'claims;')`,
);

interface OpenRow extends Record<string, SqlStorageValue> {
  readonly route: string;
  readonly state: OpenClaimState;
  readonly started_at: number;
  readonly expires_at: number | null;
  readonly history: string | null;
}

export class ClaimList {
  readonly #sql: LedgerSql;
  readonly #positions: PositionRows;

  constructor(sql: LedgerSql, positions: PositionRows) {
    this.#sql = sql;
    this.#positions = positions;
  }

  /** Of each group that has anything here. */
  counts(now: EpochMs): readonly GroupCounts[] {
    const rows = this.#open(now);
    const positions = merged(this.#positions.page(null, null, MAX_CLAIMS_COUNTED), partitionsOf(rows));
    const routes = [...new Set([...rows, ...positions].map(({ route }) => route))];
    const atLeast = routes.length > 0 && this.#isCut();
    return routes.map((route) => {
      const own = rows.filter((row) => row.route === route);
      const held = positions.filter((one) => one.route === route);
      const since = held.flatMap(({ heldSince }) => (heldSince === null ? [] : [heldSince]));
      const count = (state: OpenClaimState): number => own.filter((row) => row.state === state).length;
      return {
        route,
        started: count("started"),
        failed: count("failed"),
        unknown: count("unknown"),
        atLeast,
        partitions: held.length,
        heldSince: since.length === 0 ? null : epochMs(Math.min(...since)),
      };
    });
  }

  /** By group, stream and partition. */
  page({ route, after, limit }: PositionQuery, now: EpochMs): readonly SeenPosition[] {
    const isWanted = (one: GroupPartition): boolean =>
      (route === null || one.route === route) && (after === null || compare(one, after) > 0);
    const open = partitionsOf(this.#open(now)).filter(isWanted);
    return merged(this.#positions.page(route, after, limit), open).slice(0, limit);
  }

  /** Those that have expired are only not erased yet. */
  #open(now: EpochMs): readonly OpenRow[] {
    return OPEN_QUERIES.flatMap((query) => this.#sql.exec<OpenRow>(query, MAX_CLAIMS_COUNTED).toArray()).filter(
      ({ expires_at: expiresAt }) => expiresAt === null || expiresAt > now,
    );
  }

  #isCut(): boolean {
    return COUNT_QUERIES.some(
      (query) => this.#sql.exec<{ looked: number }>(query, MAX_CLAIMS_COUNTED).one().looked === MAX_CLAIMS_COUNTED,
    );
  }
}

function partitionsOf(rows: readonly OpenRow[]): readonly OpenPartition[] {
  const claims = rows.flatMap(({ route, history: text, started_at: startedAt }) => {
    const history = readHistory(text);
    const position = claimedPosition(history);
    return position === null ? [] : [{ ...position, route, since: firstClaim(history) ?? epochMs(startedAt) }];
  });
  return [...Map.groupBy(claims, nameOf).values()].flatMap((all) => {
    const lowest = all.reduce((one, other) => (other.offset < one.offset ? other : one));
    const { route, stream, partition: number, since } = lowest;
    return [{ route, stream, partition: number, since, lowest: lowest.offset, count: all.length, claims: all }];
  });
}

/** When the offset was first claimed, as far as its timeline reaches: each attempt begins its own time. */
function firstClaim(history: readonly TimelineEvent[]): EpochMs | null {
  const first = history.find(({ type }) => type === "claim");
  return first?.type === "claim" ? first.at : null;
}

/** In order. Where claims are open, there need be no position yet. */
function merged(
  stored: readonly (GroupPartition & StoredPosition)[],
  open: readonly OpenPartition[],
): readonly SeenPosition[] {
  const byName = new Map(open.map((one) => [nameOf(one), one]));
  const known = new Set(stored.map(nameOf));
  const all = [...stored, ...open.filter((one) => !known.has(nameOf(one)))].toSorted(compare);
  return all.map((one) => {
    const { route, stream, partition } = one;
    const position = "next" in one ? one : null;
    const claims = byName.get(nameOf(one));
    const claimed = (claims?.claims ?? []).reduce<readonly OffsetRange[]>(withClaim, position?.claimed ?? []);
    const next = nextPosition(position, claimed, claims?.lowest ?? null);
    return {
      route,
      stream,
      partition,
      next,
      open: claims?.count ?? 0,
      heldSince: claims === undefined || claims.lowest !== next ? null : claims.since,
      isUnclaimed: next !== null && claims?.lowest !== next && next < (position?.done ?? claims?.lowest ?? 0),
    };
  });
}

function nameOf({ route, stream, partition }: GroupPartition): string {
  return JSON.stringify([route, stream, partition]);
}

/** As the table's key orders them: its texts are ASCII. */
function compare(one: GroupPartition, other: GroupPartition): number {
  if (one.route !== other.route) return one.route < other.route ? -1 : 1;
  if (one.stream !== other.stream) return one.stream < other.stream ? -1 : 1;
  return one.partition - other.partition;
}
