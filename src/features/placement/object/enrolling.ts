// An object's side of enrolment: a row with its first key, in the commit of that key, and calls to the register until it says that it has it. Between the
// two an operator does not see the object; no client ever depends on it.

import { durationMs, type EpochMs, epochMs, timeAfter } from "../../../kernel/record/units.ts";
import type { Due } from "../../../kernel/due.ts";
import type { StepChange, StepHook, StepParticipation } from "../../../kernel/step-hook.ts";
import type { LaterTables } from "../../../kernel/store/schema.ts";
import type { EnrolmentNotice } from "../enrolment.ts";

/** `registered`: whether the register has it. */
export const ENROLMENT_TABLE =
  "CREATE TABLE IF NOT EXISTS enrolment (one INTEGER PRIMARY KEY CHECK (one = 1), registered INTEGER NOT NULL, older INTEGER NOT NULL)";

/** Until the register is called again. Doubled each time. */
const FIRST_PAUSE_MS = 5000;
const LONGEST_PAUSE_MS = 300_000;

export interface EnrollingPorts {
  readonly tables: LaterTables;
  /** Whether the object belongs to a layout whose objects enrol. Asked once. */
  readonly enrols: () => boolean;
  /** Calls the register. Rejects if it did not take it. */
  readonly register: (knows: Pick<EnrolmentNotice, "knows">) => Promise<void>;
  readonly waitUntil: (work: Promise<unknown>) => void;
  /** The alarm comes no later. */
  readonly alarmAt: (at: EpochMs) => void;
}

interface EnrolmentRow extends Record<string, SqlStorageValue> {
  readonly registered: number;
  readonly older: number;
}

type EnrolmentState = "none" | "noted" | "registered";

export class ObjectEnrolment {
  readonly hook: StepHook = { name: "enrolment", join: (change) => this.#join(change) };
  readonly due: Due = {
    name: "enrolment",
    nextAt: () => (this.#isNoted() ? this.#retryAt : null),
    run: (now) => {
      if (this.#isNoted() && this.#retryAt <= now) this.#register(now);
    },
  };
  readonly #ports: EnrollingPorts;
  #enrols: boolean | null = null;
  /** As its row says; read once, because only this object writes it. */
  #state: EnrolmentState | null = null;
  #isOlder = false;
  #retryAt = epochMs(0);
  #pauseMs = FIRST_PAUSE_MS;

  constructor(ports: EnrollingPorts) {
    this.#ports = ports;
  }

  #isNoted(): boolean {
    return this.#isEnrolling && this.#read() === "noted";
  }

  get #isEnrolling(): boolean {
    return (this.#enrols ??= this.#ports.enrols());
  }

  #read(): EnrolmentState {
    if (this.#state !== null) return this.#state;
    const { tables } = this.#ports;
    const rows = tables.has("enrolment")
      ? tables.sql.exec<EnrolmentRow>("SELECT registered, older FROM enrolment WHERE one = 1").toArray()
      : [];
    const [row] = rows;
    this.#isOlder = row?.older === 1;
    return (this.#state = row === undefined ? "none" : row.registered === 1 ? "registered" : "noted");
  }

  #join({ after, now }: StepChange): StepParticipation | null {
    if (after === null || !this.#isEnrolling || this.#read() !== "none") return null;
    const { tables } = this.#ports;
    // Of an object from before it had to enrol: others may be like it.
    const isOlder = tables.sql.exec("SELECT 1 FROM records LIMIT 1").toArray().length > 0;
    return {
      write: () => {
        tables.sql.exec(ENROLMENT_TABLE);
        tables.sql.exec("INSERT OR IGNORE INTO enrolment (one, registered, older) VALUES (1, 0, ?)", isOlder ? 1 : 0);
      },
      written: () => {
        tables.made("enrolment");
        this.#state = "noted";
        this.#isOlder = isOlder;
        this.#register(now);
        this.#ports.alarmAt(this.#retryAt);
      },
    };
  }

  #register(now: EpochMs): void {
    this.#retryAt = timeAfter(now, durationMs(this.#pauseMs));
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
    this.#ports.waitUntil(this.#callRegister());
  }

  /** Never rejects. */
  async #callRegister(): Promise<void> {
    try {
      await this.#ports.register(this.#isOlder ? { knows: "older" } : {});
      this.#ports.tables.sql.exec("UPDATE enrolment SET registered = 1 WHERE one = 1");
      this.#state = "registered";
    } catch (error) {
      console.warn({ message: "an object could not enrol, and tries again", reason: String(error) });
    }
  }
}
