// What a feature is within an object, and what it gets of it. All features of an object stand in one list (features/object.ts), in the order of
// their work; nothing registers itself.

import type { AnsweredCall } from "./call.ts";
import type { DigestMultipart } from "./body/upload.ts";
import type { JudgeBody, WatchMessages } from "./judge-body.ts";
import type { Due } from "./due.ts";
import type { ObjectClosing, BeginsElsewhere, PlacedRecord } from "./elsewhere.ts";
import type { ExchangeAnswer } from "./object/exchange-answer.ts";
import type { IncomingRequest, KernelParts } from "./object/exchange-ports.ts";
import type { ExchangeRunner } from "./object/exchanges.ts";
import type { ClientProblem } from "./record/problem.ts";
import type { Started } from "./record/record.ts";
import type { EpochMs, RecordId } from "./record/units.ts";
import type { StepHook } from "./step-hook.ts";
import type { StoredRequest } from "./store/stored-request.ts";
import type { ObjectPlace } from "./traffic/exchange-reporter.ts";

/** What an object gives to its features. */
export interface ObjectKernel extends KernelParts {
  /** Runs an exchange whose answer goes to no client. */
  readonly deliver: ExchangeRunner["deliver"];
  /** To be called after each answer to a client: an object whose alarm was dropped sets it again. */
  readonly restoreAlarm: () => void;
  /** All features of the object. Empty while they are made. */
  readonly features: () => readonly ObjectFeature[];
}

export interface ObjectFeature {
  readonly name: string;
  /** Its parts in steps of records, in this order. */
  readonly hooks?: readonly StepHook[];
  readonly actions?: FeatureActions;
  /** What it does at the alarm, in this order. */
  readonly dues?: readonly Due[];
  /** What has been put off by a clock that was ahead is due at once; returns how much that was. */
  readonly bringBack?: (now: EpochMs) => number;
  /** Rows that it keeps beside the records and that name theirs: what erases the data of a caller erases them too. In slices of so many rows. */
  readonly rowsOfRecords?: (most: number) => Iterable<readonly RowOfRecord[]>;
  readonly calls?: readonly AnsweredCall[];
  /** What it holds now, for its metrics in the Worker (`MetricsFeature.held`); plain data. */
  readonly numbers?: () => unknown;
}

/** A row that outlives its record. */
export interface RowOfRecord {
  readonly record: RecordId;
  /** The key of its record, as the record's own column has it; empty: it is about no record, or about none that says its key. */
  readonly key: string;
  /** Erases it, also when it has moved since it was found; whether it still existed. */
  readonly erase: () => boolean;
}

/** Each makes one of them, in the order of their work. */
export type ObjectFeatures = readonly ((kernel: ObjectKernel) => ObjectFeature)[];

/** What one feature alone does in an object, by name. */
export interface ObjectFunctions {
  /** Digests the canonical form of a multipart body on its way. Without it such a body is compared byte by byte. */
  readonly digestMultipart?: DigestMultipart;
  /** Without it a status alone decides what an answer means. */
  readonly judgeBody?: JudgeBody;
  /** Finds out where the object runs. */
  readonly placeOf?: (env: Readonly<Record<string, unknown>>) => ObjectPlace;
  /** Without it an event stream is whole when it ends. */
  readonly watchMessages?: WatchMessages;
}

/**
 * Actions of an exchange that the life cycle and decide.ts have decided, and that a feature performs instead of exchange.ts: those of requests that
 * are answered without their result. Only requests of the feature's own settings lead to them. Each is begun in the turn of its decision.
 */
export interface FeatureActions {
  /** Whether a request that is accepted begins at once, or waits for its turn. */
  readonly accept?: () => "begin" | "wait";
  /** Starts the attempt of a request that is accepted: the record has been claimed for it. */
  readonly startAccepted?: (exchange: PerformedExchange, record: Started) => Promise<ExchangeAnswer>;
  /** Says what became of a request that was accepted. */
  readonly follow?: (exchange: PerformedExchange) => Promise<ExchangeAnswer>;
  /** Stores a message with its record, whose outcome is unknown. `refusal` is the answer if it cannot. */
  readonly park?: (exchange: PerformedExchange, refusal: ClientProblem) => ExchangeAnswer;
  /**
   * Whether a key without a record begins elsewhere; `null`: it begins here. Asked before each claim, in its turn; the answer is made in the same turn, when
   * nothing of the key is left here.
   */
  readonly elsewhere?: (placed: PlacedRecord) => (() => BeginsElsewhere) | null;
  /** For operators: whether the object is closed; `null`: it is open. */
  readonly closing?: () => ObjectClosing | null;
}

/** An exchange, for whoever performs one of its actions. */
export interface PerformedExchange extends IncomingRequest {
  /** The name of its record. */
  readonly id: RecordId;
  /** The request as a record keeps it. */
  readonly stored: () => StoredRequest;
}
