// One attempt while this instance runs it. `run` calls the origin and judges its response: its status and, where rules say so, its body
// (`judgeResponse`). A result is kept (`#keep`): stored
// with its record, and streamed to its readers as it is stored. Any other response is passed on (`#pass`). Later requests may
// attach to a result that has begun to arrive. Its end is written first (G4), and an answer that contradicts the record is never sent
// (`AttemptSettlement`).

import type { Started } from "../record/record.ts";
import type { BodyNumber, EpochMs } from "../record/units.ts";
import type { EndReason, NoResult } from "../record/verdict.ts";
import type { ExchangeHead } from "../request/message.ts";
import { type AnswerFor, firstAnswer, passedAnswer, wholeBody } from "./answers.ts";
import { type AttachableStream, attachToStream } from "./attached-stream.ts";
import type { BodyStore } from "../store/bodies.ts";
import type { ReaderPatience } from "../body/byte-pipe.ts";
import type { EventOffsets } from "../resume/event-offsets.ts";
import { AttemptSettlement, type StepRecord } from "./attempt-settlement.ts";
import type { AnswerBody, ExchangeAnswer } from "./exchange-answer.ts";
import { type JudgedResponse, judgeResponse, type JudgingPorts, type PassedStream } from "./judged-response.ts";
import { KeptForm } from "./kept-form.ts";
import type { BodyPiece, OriginOutcome, OriginResponse } from "./origin-call.ts";
import { OverflowBucket } from "../overflow/overflow.ts";
import { readAgain } from "../body/held-answer.ts";
import { PassedBody } from "../body/passed-body.ts";
import type { RemoteBodies } from "../overflow/remote-bodies.ts";
import { isShort, passingSpool, spoolFor, type SpoolManner } from "../body/response-spool.ts";
import type { Spool } from "../body/spool.ts";

/** What an attempt needs of its shard. */
export interface AttemptPorts extends JudgingPorts {
  /** The body that has just been stored; `null` when the record does not keep one. */
  readonly reopen: (manner: SpoolManner) => Promise<AnswerBody | null>;
  readonly bodies: BodyStore;
  /** The body that its claim named. */
  readonly body: BodyNumber;
  readonly remote: RemoteBodies;
  /** Resolves when everything written so far is durable. */
  readonly sync: () => Promise<void>;
  readonly step: StepRecord;
  readonly offsets: EventOffsets;
  /** The first client gets its stream, and others may attach. */
  readonly begun: () => void;
  /** The attempt ended without a result and its record says so; `answerFor` gives the answer that all waiters share, if any. */
  readonly settled: (answerFor: AnswerFor | null) => void;
}

/** After this time a response is sent without waiting for its body: an event stream may send its first event much later. */
const HEAD_WAIT_MS = 100;

export class OriginAttempt {
  readonly #head: ExchangeHead;
  readonly #record: Started;
  readonly #ports: AttemptPorts;
  readonly #settlement: AttemptSettlement;
  readonly #form: KeptForm;
  #response: OriginResponse | null = null;
  #judged: Extract<JudgedResponse, { readonly kind: "result" }> | null = null;
  #spool: Spool | null = null;
  /** The body of a response that is not a result, while it is passed on. */
  #passed: PassedBody | null = null;
  #end: "none" | NoResult = "none";
  /** The end of the lock, as it was when the attempt ended. */
  #lockedUntil: EpochMs;
  /** Whether the response is to be replayed. */
  #kept = true;
  /** Set when the body is too large for the ledger. */
  #overflow: OverflowBucket | null = null;
  #hasBegun = false;

  constructor(head: ExchangeHead, record: Started, ports: AttemptPorts) {
    this.#head = head;
    this.#record = record;
    this.#lockedUntil = record.attempt.lockedUntil;
    this.#ports = ports;
    this.#settlement = new AttemptSettlement(head, record, ports.step);
    this.#form = new KeptForm(head.encryption, { name: record.attempt.id, body: ports.body });
  }

  get id(): Started["attempt"]["id"] {
    return this.#record.attempt.id;
  }

  /** Whether the gateway made it by itself, for a request that it had accepted. */
  get isAccepted(): boolean {
    return this.#record.accepted !== undefined;
  }

  get #manner(): SpoolManner {
    return { patience: this.#patience, cipher: this.#form.cipher };
  }

  get #patience(): ReaderPatience {
    return { timers: this.#ports.timers, idleMs: this.#head.rules.idleTimeoutMs };
  }

  /** The first client's answer: given when the record is settled, or when the first bytes of a stream are durable. */
  get answer(): Promise<ExchangeAnswer> {
    return this.#settlement.answer;
  }

  /** Whether it has ended without a result: its lock is no longer renewed, and only its current readers get the rest of its body. */
  get hasEnded(): boolean {
    return this.#end !== "none";
  }

  /** Whether it has ended with an unknown outcome and is still connected to the origin. */
  get isAmbiguous(): boolean {
    return this.#end === "ambiguous" && this.#passed !== null;
  }

  /** Cuts off an ambiguous response if its lock has ended. */
  cutOff(now: EpochMs): void {
    if (this.isAmbiguous && now >= this.#lockedUntil) this.#passed?.cutOff();
  }

  /** Whether the first client has been given its stream. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Runs until the attempt has ended and its body has been passed on. Never rejects. */
  async run(call: () => Promise<OriginOutcome>): Promise<void> {
    try {
      const outcome = await call();
      if (!("next" in outcome)) return this.#ports.settled(this.#settlement.unanswered(outcome));
      this.#response = outcome;
      const preparing = this.#form.ready();
      if (preparing !== null) await preparing;
      const judging = judgeResponse(outcome, this.#head.rules, this.#ports);
      const judged = judging instanceof Promise ? await judging : judging;
      this.#response = judged.kind === "broken" ? outcome : judged.response;
      if (judged.kind === "broken") this.#ports.settled(this.#settlement.unanswered(judged.end));
      else if (judged.kind === "result") await this.#keep((this.#judged = judged).response);
      else await this.#pass(judged.response, judged.kind, judged.reason);
    } catch (error) {
      // Nothing watches over this attempt from here on, so its call must not run past its lock.
      this.#response?.cancel();
      this.#spool?.break();
      this.#passed?.cutOff();
      this.#settlement.fail(error);
    }
  }

  /**
   * Passes on a response that is not a result, which is written to the record before its body is passed on. The first client
   * gets it; if the origin refused, all waiters do too. An ambiguous response is passed on only until another attempt may start (G1).
   */
  async #pass(response: OriginResponse, type: NoResult, reason: EndReason): Promise<void> {
    const { timers, settled } = this.#ports;
    const step = this.#settlement.passed(type, reason, response.headers);
    // The client of an accepted request gets what the record says; a body that nobody reads would keep a place (accepted-attempts.ts).
    if (step === null || this.#record.accepted !== undefined) {
      response.cancel();
      return;
    }
    this.#end = type;
    const passed = new PassedBody(response, passingSpool(this.#ports, this.#manner), this.#settlement.names);
    this.#passed = passed;
    this.#lockedUntil = step.record?.attempt.lockedUntil ?? this.#lockedUntil;
    const leftMs = type === "ambiguous" ? this.#lockedUntil - Date.now() : Number.POSITIVE_INFINITY;
    const due = timers.set(leftMs, () => passed.cutOff());
    await passed.ready(timers, HEAD_WAIT_MS);
    const answerFor: AnswerFor = (head) => {
      const isFirst = head.request === this.#head.request;
      return passedAnswer(response, passed.reader(), type, head, isFirst ? "first" : "attached");
    };
    this.#settlement.give(answerFor(this.#head));
    settled(type === "refused" ? answerFor : null);
    await passed.rest();
    due.cancel();
  }

  /** Keeps a result: a body that comes whole at once is stored with its record, any other as it comes. */
  async #keep(response: OriginResponse): Promise<void> {
    const first = response.next();
    let isLate = false;
    // The first piece of a short body comes with the head or soon after, and is usually the whole body.
    if (isShort(response) && (response.length ?? 0) <= this.#head.rules.maxResponseBodyBytes) {
      const piece = await this.#ports.timers.firstOf(first, HEAD_WAIT_MS);
      if (piece?.kind === "bytes" && piece.bytes.byteLength === response.length) {
        await this.#completeWhole(response, piece.bytes);
        return;
      }
      isLate = piece === null;
    }
    await this.#keepAsItComes(response, first, isLate);
  }

  /** Stores the body as it comes, and sends it as it is stored. `isLate`: HEAD_WAIT_MS has already passed without a first piece. */
  async #keepAsItComes(response: OriginResponse, first: Promise<BodyPiece>, isLate: boolean): Promise<void> {
    const spool = spoolFor(response, this.#ports.body, this.#ports, this.#manner);
    this.#spool = spool;
    if (isLate) this.#begin(response, spool);
    else void this.#beginWhenReadable(response, spool);
    try {
      for (let piece = await first; ; piece = await response.next()) {
        if (piece.kind === "whole") break;
        if (piece.kind !== "bytes") {
          spool.break();
          // If the response is not kept, the attempt has already been settled.
          if (this.#kept) this.#settlement.unanswered(piece);
          return;
        }
        await spool.write(piece.bytes);
        piece.release();
        const isTooLarge = spool.bytes > this.#head.rules.maxResponseBodyBytes;
        if (isTooLarge && this.#overflow === null) await this.#outgrow(response, spool);
      }
      await this.#complete(response, spool);
    } catch (error) {
      this.#settlement.report(error);
      response.cancel();
      spool.break();
      if (this.#kept) this.#giveUp(response);
    }
  }

  /** The body is too large for the ledger: it goes to R2, or it is not kept. */
  async #outgrow(response: OriginResponse, spool: Spool): Promise<void> {
    const { remote } = this.#ports;
    const lost = (): void => {
      // The origin has answered, so this is written before any reader continues. If the write fails, `#giveUp` tries once more.
      this.#settlement.result(response, null);
      this.#kept = false;
    };
    const { names } = this.#settlement;
    this.#overflow = new OverflowBucket({ name: this.id, names, remote, spool, lost, ...this.#manner });
    await spool.flush();
    await this.#overflow.begin();
    this.#begin(response, spool);
    spool.stopKeeping();
  }

  async #complete(response: OriginResponse, spool: Spool): Promise<void> {
    // What is too large for the ledger is the result that its status says.
    const passed = this.#overflow === null ? await this.#judged?.atEnd?.() : null;
    const whole = this.#overflow === null ? spool.takeWhole() : null;
    if (passed !== null && passed !== undefined) {
      if (whole === null) return this.#passSpooled(response, spool, passed);
      return this.#pass(readAgain(response, whole), passed.type, passed.reason);
    }
    if (whole !== null) return this.#completeWhole(response, whole);
    await this.#overflow?.complete();
    const spooled = { spool, isRemote: this.#overflow !== null };
    const encrypted = this.#form.cipher === null ? null : await this.#form.encrypted(response, spooled);
    await spool.finish(() => {
      if (this.#kept) this.#settlement.result(response, encrypted ?? this.#form.plain(response, spooled));
    });
  }

  /** A stream that is no result, of which the first client may have most: it gets the rest, and nothing is kept. Others get what counts. */
  async #passSpooled(response: OriginResponse, spool: Spool, { type, reason, answer }: PassedStream): Promise<void> {
    await spool.flush();
    this.#begin(response, spool);
    spool.stopKeeping();
    await spool.finish(() => void this.#settlement.passed(type, reason, response.headers));
    this.#end = type;
    const answerFor: AnswerFor = (head) => passedAnswer(response, answer, type, head, "attached");
    this.#ports.settled(type === "refused" ? answerFor : null);
  }

  /** Stores a body that has arrived whole with its record; if that fails, the body is sent but not kept. */
  async #completeWhole(response: OriginResponse, bytes: Uint8Array): Promise<void> {
    const form = this.#form.whole(response, bytes);
    const kept = form instanceof Promise ? await form : form;
    let record;
    try {
      record = this.#settlement.result(response, kept)?.record;
    } catch (error) {
      this.#settlement.report(error);
      record = this.#settlement.result(response, null)?.record;
    }
    const expiresAt = record?.state === "completed" && record.kept ? record.expiresAt : null;
    const body = await wholeBody(bytes, () => this.#ports.reopen(this.#manner), this.#patience);
    this.#settlement.give(firstAnswer(response, body, this.#head.request.echo, expiresAt));
  }

  #giveUp(response: OriginResponse): void {
    response.cancel();
    this.#kept = false;
    this.#settlement.unkept(response);
  }

  async #beginWhenReadable(response: OriginResponse, spool: Spool): Promise<void> {
    await this.#ports.timers.firstOf(spool.readable(), HEAD_WAIT_MS);
    if (spool.isReadable) this.#begin(response, spool);
  }

  /** The first client gets its stream, and others may attach. */
  #begin(response: OriginResponse, spool: Spool): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    try {
      const body = spool.reader(response.length);
      this.#settlement.give(firstAnswer(response, body, this.#head.request.echo, null));
    } catch (error) {
      // The client gets no answer, but the response is still kept.
      this.#settlement.fail(error);
    }
    this.#ports.begun();
  }

  /** The stream from its first byte, or from where the client of `head` left off; `null` when it cannot be followed. */
  attach(head: ExchangeHead, caller: AbortSignal | null): Promise<ExchangeAnswer | null> {
    return attachToStream(() => this.#attachable(), { ...this.#ports, cipher: this.#form.cipher }, head, caller);
  }

  #attachable(): AttachableStream | null {
    const response = this.#response;
    const spool = this.#spool;
    const isThere = this.#hasBegun && this.#overflow === null && spool?.isReadable === true;
    return response !== null && spool !== null && isThere ? { response, spool } : null;
  }
}
