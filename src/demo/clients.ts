// The clients of the demo's page: they send real requests to the gateway, each with an idempotency key, and tell what they got. The
// page shows the steps as they happen.

import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import * as v from "valibot";

/** How many duplicates are sent at once. */
export const DUPLICATES = 50;

/** A retry that finds the API still starting comes again: so often, after this pause. */
const MAX_RETRIES = 40;
const RETRY_MS = 250;

const BODY = '{"amount":4200,"currency":"EUR"}';
const OTHER_BODY = '{"amount":9900,"currency":"EUR"}';

/** The answer comes after the kill. */
const KILL_MS = 5_000;

/** What the route's configuration does after a lost call; each has a route of the demo's API. */
export const RULES = {
  hold: "/v1/payments",
  verify: "/v1/transfers",
} as const;

export type DemoRule = keyof typeof RULES;

/** One line of the page's log: one request, or many of the same kind. */
export interface DemoLogLine {
  readonly id: number;
  readonly what: string;
  readonly path: string;
  readonly key: string;
  /** How many requests got which answer, in the order in which the first of each came. */
  readonly answers: Readonly<Record<string, number>>;
  /** Of these, how many are not answered yet. */
  readonly pending: number;
  /** What the answers mean, in a sentence; empty while there are some to come. */
  readonly meaning: string;
}

/** What the clients need of the demo. */
export interface ClientPorts {
  readonly gateway: string;
  /** Kills the API when a request with this key has taken effect; see origin-keeper.ts. */
  readonly killInCall: (key: string) => Promise<{ readonly killed: Promise<void> }>;
  readonly restart: () => Promise<void>;
  /** Called after every change of the steps. */
  readonly onChange: () => void;
}

interface Reply {
  readonly status: number;
  readonly isReplay: boolean;
  /** Of the gateway's problem; null if it is none. */
  readonly code: string | null;
}

const problemSchema = v.object({ code: v.string() });

export class DemoClients {
  /** All keys begin with it, so that they differ from those of the printed commands. */
  readonly prefix: string;
  readonly #ports: ClientPorts;
  readonly #steps: DemoLogLine[] = [];
  #sent = 0;
  #keys = 0;
  #last: { readonly path: string; readonly key: string } | null = null;
  #running: string | null = null;

  constructor(ports: ClientPorts) {
    this.#ports = ports;
    this.prefix = `page-${randomBytes(3).toString("hex")}-`;
  }

  get steps(): readonly DemoLogLine[] {
    return this.#steps;
  }

  get sent(): number {
    return this.#sent;
  }

  /** The run that is under way; null if there is none. */
  get running(): string | null {
    return this.#running;
  }

  get canRepeat(): boolean {
    return this.#last !== null;
  }

  /** Runs one at a time. `false`: another one is under way, or there is none of that name. */
  start(name: string): boolean {
    const run = this.#runOf(name);
    if (this.#running !== null || run === null) return false;
    this.#running = name;
    this.#ports.onChange();
    void run()
      .catch((error: unknown) => this.#open(`failed: ${String(error)}`, "", "", 0))
      .finally(() => {
        this.#running = null;
        this.#ports.onChange();
      });
    return true;
  }

  #runOf(name: string): (() => Promise<void>) | null {
    const last = this.#last;
    switch (name) {
      case "pay":
        return () => this.#pay();
      case "repeat":
        return last === null ? null : () => this.#repeat(last.path, last.key);
      case "reuse":
        return last === null ? null : () => this.#reuse(last.path, last.key);
      case "duplicates":
        return () => this.#duplicates();
      case "kill-hold":
        return () => this.#kill("hold");
      case "kill-verify":
        return () => this.#kill("verify");
      default:
        return null;
    }
  }

  async #pay(): Promise<void> {
    const key = this.#newKey("pay");
    const step = this.#open("A payment", RULES.hold, key, 1);
    const reply = await this.#send(step, RULES.hold, key);
    this.#close(step, reply.status === 201 ? "The payment was made." : "");
    this.#last = { path: RULES.hold, key };
  }

  async #repeat(path: string, key: string): Promise<void> {
    const step = this.#open("The same request again", path, key, 1);
    const reply = await this.#send(step, path, key);
    this.#close(step, reply.isReplay ? "The first answer, byte for byte. The API was not called." : meaningOf(reply));
  }

  async #reuse(path: string, key: string): Promise<void> {
    const step = this.#open("Another amount with the same key", path, key, 1);
    this.#close(step, meaningOf(await this.#send(step, path, key, OTHER_BODY)));
  }

  async #duplicates(): Promise<void> {
    const key = this.#newKey("burst");
    const step = this.#open(`${DUPLICATES} duplicates at once`, RULES.hold, key, DUPLICATES);
    const replies = await Promise.all(Array.from({ length: DUPLICATES }, () => this.#send(step, RULES.hold, key)));
    const isAllPaid = replies.every(({ status }) => status === 201);
    this.#close(step, isAllPaid ? "One call, one payment, and all clients have its answer." : "");
    this.#last = { path: RULES.hold, key };
  }

  async #kill(rule: DemoRule): Promise<void> {
    const path = RULES[rule];
    const key = this.#newKey("kill");
    const { killed } = await this.#ports.killInCall(key);
    const step = this.#open("A request, and the API is killed after it acted", path, key, 1);
    const reply = await this.#send(step, path, key);
    // A request that the gateway refused reaches no API, and kills none.
    await Promise.race([killed, pause(KILL_MS)]);
    this.#close(step, meaningOf(reply));
    await this.#ports.restart();
    const retry = this.#open("Its client tries again", path, key, 1);
    let again = await this.#send(retry, path, key);
    for (let tries = 1; again.status >= 500 && tries < MAX_RETRIES; tries += 1) {
      await pause(RETRY_MS);
      this.#change(retry, { pending: 1 });
      again = await this.#send(retry, path, key);
    }
    this.#close(retry, meaningOf(again));
    this.#last = { path, key };
  }

  #newKey(kind: string): string {
    this.#keys += 1;
    return `${this.prefix}${kind}-${this.#keys}`;
  }

  async #send(step: number, path: string, key: string, body = BODY): Promise<Reply> {
    this.#sent += 1;
    const reply = await this.#fetch(path, key, body);
    const label = labelOf(reply);
    const { answers, pending } = this.#stepOf(step);
    const counted = { ...answers, [label]: (answers[label] ?? 0) + 1 };
    // In one order, whichever came first.
    const sorted = Object.entries(counted).toSorted(([one], [other]) => one.localeCompare(other));
    this.#change(step, { answers: Object.fromEntries(sorted), pending: pending - 1 });
    return reply;
  }

  async #fetch(path: string, key: string, sent: string): Promise<Reply> {
    const response = await fetch(this.#ports.gateway + path, {
      method: "POST",
      headers: { Authorization: "Bearer demo", "Content-Type": "application/json", "Idempotency-Key": key },
      body: sent,
    });
    const body = await response.text();
    const isReplay = response.headers.get("Idempotent-Replayed") === "true";
    const isProblem = response.headers.get("Content-Type")?.startsWith("application/problem+json") === true;
    return { status: response.status, isReplay, code: isProblem ? codeIn(body) : null };
  }

  /** Returns the step's id. */
  #open(what: string, path: string, key: string, pending: number): number {
    const id = this.#steps.length;
    this.#steps.push({ id, what, path, key, answers: {}, pending, meaning: "" });
    this.#ports.onChange();
    return id;
  }

  #close(step: number, meaning: string): void {
    this.#change(step, { meaning, pending: 0 });
  }

  #change(step: number, change: Partial<DemoLogLine>): void {
    this.#steps[step] = { ...this.#stepOf(step), ...change };
    this.#ports.onChange();
  }

  #stepOf(id: number): DemoLogLine {
    const step = this.#steps[id];
    if (step === undefined) throw new Error(`there is no step ${id}`);
    return step;
  }
}

function labelOf({ status, isReplay, code }: Reply): string {
  if (code !== null) return `${status} ${code}`;
  return isReplay ? `${status}, replayed` : `${status}, from the API`;
}

function meaningOf({ status, isReplay, code }: Reply): string {
  if (isReplay) return "The gateway asked the API what became of it, and gives its answer: no second effect.";
  switch (code) {
    case "key-reused":
      return "The key belongs to another payment, so this one is refused. The API was not called.";
    case "origin-dropped":
      return "The connection broke after the request was sent: nobody knows yet whether it took effect.";
    case "outcome-unknown":
      return "It may have taken effect, so the gateway does not try again: a person decides in the console.";
    case null:
      return status < 300 ? "The gateway asked the API what became of it, and gives its answer: no second effect." : "";
    default:
      return "";
  }
}

function codeIn(body: string): string {
  try {
    return v.parse(problemSchema, JSON.parse(body)).code;
  } catch {
    return "problem";
  }
}
