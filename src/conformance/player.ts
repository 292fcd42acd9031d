// Plays the script of one case against the server under test, and returns what was seen. It judges nothing.

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type {
  ConformanceCase,
  CaseObservation,
  TargetPolicy,
  RequestReply,
  CaseStep,
  OriginBehaviour,
} from "./case.ts";
import { asksForLater } from "./findings.ts";
import { type OpenRequest, openRequest, type RawRequest } from "./http.ts";
import type { HeaderPair } from "./http-response.ts";
import type { CaseExpectation, TestOrigin } from "./test-origin.ts";
import { type RequestSigning, USUAL_SIGNING } from "./platforms.ts";
import { type TestTarget, TOKEN_HEADER } from "./target.ts";
import { type ToolCall, toolCallText } from "./tool-call.ts";
import { unreachedTarget } from "./unreachable.ts";

export interface PlayerStage {
  readonly target: TestTarget;
  readonly origin: TestOrigin | null;
  readonly policy: TargetPolicy | null;
  /** What requests in the usual session of MCP have, and those in another. */
  readonly sessions: { readonly usual: readonly HeaderPair[]; readonly another: readonly HeaderPair[] };
}

/** How long the origin's call may take to come. */
const CALL_MS = 10_000;
/** For how long retries are sent until one is not answered to come back, if the server's lock is not known. */
const SETTLE_MS = 10_000;
const POLL_MS = 200;
/** After a deadline of the server: it may round, or look at its clock now and then. */
const MARGIN_MS = 2_000;

export async function playCase(one: ConformanceCase, stage: PlayerStage): Promise<CaseObservation> {
  const played = new Play(one, stage);
  try {
    for (const step of one.script) await played.take(step);
    return played.seen();
  } finally {
    await played.close();
  }
}

/** A request that no case makes: to look at the server, or whether it answers. */
export function askServer(
  target: TestTarget,
  method: string,
  path: string,
  timeoutMs: number,
  { headers = [], body }: Pick<RawRequest, "headers" | "body"> = {},
): Promise<RequestReply> {
  const all = [...target.headers, ...target.caller, ...headers];
  const content = body === undefined ? null : { body };
  return replyTo(openRequest({ ...where(target), method, target: path, headers: all, ...content, timeoutMs }));
}

class Play {
  readonly #stage: PlayerStage;
  readonly #token = `case-${randomUUID()}`;
  readonly #key = randomUUID();
  readonly #anotherKey = randomUUID();
  readonly #expectation: CaseExpectation | null;
  readonly #open = new Map<string, { readonly request: OpenRequest; readonly reply: Promise<RequestReply> }>();
  readonly #replies: Record<string, RequestReply> = {};
  readonly #early: string[] = [];
  #isDown = false;

  constructor({ origin: behaviour }: ConformanceCase, stage: PlayerStage) {
    this.#stage = stage;
    this.#expectation = stage.origin?.expect(this.#token, behaviour ?? [{}]) ?? null;
  }

  async take(step: CaseStep): Promise<void> {
    const { target, origin } = this.#stage;
    switch (step.do) {
      case "send":
        this.#begin(step.as, step.with);
        return this.#end(step.as);
      case "open":
        return this.#begin(step.as, step.with);
      case "burst": {
        const names = Array.from({ length: step.times }, (_, at) => `${step.as}.${at}`);
        await this.#beginAtOnce(names);
        for (const name of names) await this.#end(name);
        return;
      }
      case "called":
        await within(this.#expectation?.called ?? Promise.resolve(), CALL_MS);
        return;
      case "look":
        return this.#note(step.as, this.#open.get(step.as)?.reply);
      case "piece":
        return this.#note(step.as, this.#open.get(step.as)?.request.piece);
      case "release":
        this.#expectation?.release();
        return;
      case "end":
        return this.#end(step.as);
      case "leave":
        this.#open.get(step.as)?.request.reset();
        return this.#end(step.as);
      case "restart":
        return restart(target);
      case "settle":
        return this.#settle(step.as);
      case "pause":
        await pause(this.#pauseMs(step.until));
        return;
      case "origin":
        this.#isDown = step.is === "down";
        await (this.#isDown ? origin?.down() : origin?.up());
    }
  }

  seen(): CaseObservation {
    return {
      replies: this.#replies,
      early: this.#early,
      calls: this.#expectation?.calls ?? null,
      policy: this.#stage.policy,
      sent: this.#body(undefined),
    };
  }

  async close(): Promise<void> {
    this.#expectation?.release();
    for (const { request, reply } of this.#open.values()) {
      request.reset();
      await reply;
    }
    if (this.#isDown) await this.#stage.origin?.up();
  }

  #begin(as: string, wish: OriginBehaviour = {}): void {
    const request = openRequest(this.#signed(this.#request(wish), wish));
    this.#open.set(as, { request, reply: replyTo(request) });
  }

  /** All requests are there but for their bodies, which are then sent in one turn: a server that looks before it locks sees none. */
  async #beginAtOnce(names: readonly string[]): Promise<void> {
    const { body, headers = [], ...head } = this.#signed(this.#request({}), {});
    const bytes = Buffer.from(body ?? "");
    const announced = { ...head, headers: [...headers, ["Content-Length", String(bytes.length)] as const] };
    const requests = names.map((name) => ({ name, request: openRequest(announced) }));
    for (const { name, request } of requests) this.#open.set(name, { request, reply: replyTo(request) });
    await Promise.allSettled(requests.map(({ request }) => request.sent));
    for (const { request } of requests) request.write(bytes);
  }

  async #end(as: string): Promise<void> {
    this.#replies[as] = (await this.#open.get(as)?.reply) ?? { lost: "it was not sent" };
  }

  async #note(as: string, what: Promise<unknown> | undefined): Promise<void> {
    if (what !== undefined && (await within(what, this.#stage.target.patienceMs))) this.#early.push(as);
  }

  async #settle(as: string): Promise<void> {
    const { lockMs } = this.#stage.target;
    const giveUpAt = Date.now() + (lockMs === null ? SETTLE_MS : lockMs + MARGIN_MS);
    for (;;) {
      this.#begin(as);
      await this.#end(as);
      const reply = this.#replies[as];
      if (reply !== undefined && !("lost" in reply) && !asksForLater(reply)) return;
      if (Date.now() > giveUpAt) return;
      await pause(POLL_MS);
    }
  }

  #pauseMs(until: Extract<CaseStep, { do: "pause" }>["until"]): number {
    const { retentionMs, lockMs } = this.#stage.target;
    switch (until) {
      case "half the retention":
        return (retentionMs ?? 0) / 2;
      case "after the retention":
        return (retentionMs ?? 0) + MARGIN_MS;
      case "after the lock":
        return (lockMs ?? 0) + MARGIN_MS;
    }
  }

  #request({ method, key, query, path, caller, body, session, headers = [] }: OriginBehaviour): RawRequest {
    const { target, sessions } = this.#stage;
    const callers = caller === "none" ? [] : caller === "other" ? (target.otherCaller ?? []) : target.caller;
    const type = typeof body === "object" && "bytes" in body ? "application/octet-stream" : target.contentType;
    return {
      ...where(target),
      method: method ?? target.method,
      target: `${pathOf(path, target)}${query === undefined ? "" : `?${query}`}`,
      headers: [
        ...target.headers,
        ...callers,
        ["Content-Type", type],
        [TOKEN_HEADER, this.#token],
        ...this.#keyLines(key),
        ...sessions[session ?? "usual"],
        ...headers,
      ],
      body: this.#body(body, key),
      timeoutMs: target.timeoutMs,
    };
  }

  #signed(request: RawRequest, { sign, caller }: OriginBehaviour): RawRequest {
    const { target, origin } = this.#stage;
    if (!target.isSigned || origin === null || sign === null) return request;
    const signing: RequestSigning = { ...USUAL_SIGNING, ...(caller === "other" ? { as: "other" } : null), ...sign };
    const { method, target: path, headers = [], body = "" } = request;
    const signable = { method, authority: target.base.host, target: path, headers, body: Buffer.from(body) };
    return { ...request, headers: origin.platforms.sign(signable, signing, origin.url) };
  }

  #keyLines(key: OriginBehaviour["key"]): readonly HeaderPair[] {
    if (key === null) return [];
    const usual = this.#stage.target.keyForm === "quoted" ? '"{key}"' : "{key}";
    const [lines, value] = key === "another" ? [[usual], this.#anotherKey] : [key ?? [usual], this.#key];
    return lines.map((line) => ["Idempotency-Key", line.replaceAll("{key}", value)]);
  }

  #body(body: OriginBehaviour["body"], key?: OriginBehaviour["key"]): Buffer {
    if (typeof body === "object" && "bytes" in body) return Buffer.from(body.bytes, "latin1");
    const { target } = this.#stage;
    const usual = body === "other" ? (target.otherBody ?? target.body) : target.body;
    const text = typeof body !== "object" ? usual : "text" in body ? body.text : callText(target, body.call);
    const ownKey = key === "another" ? this.#anotherKey : this.#key;
    return Buffer.from(text.replaceAll("{token}", this.#token).replaceAll("{key}", ownKey));
  }
}

/** Throws if the target has no tool: no case of its profile calls one. */
function callText({ tool }: TestTarget, call: ToolCall | readonly ToolCall[]): string {
  if (tool === null) throw new TypeError("the profile is not about tools");
  const texts = [call].flat().map((one) => toolCallText(tool, one));
  return Array.isArray(call) ? `[${texts.join(",")}]` : texts.join("");
}

function pathOf(path: OriginBehaviour["path"], target: TestTarget): string {
  if (path === undefined) return target.path;
  return path === "other" ? (target.otherPath ?? target.path) : `${target.path}/${path.below}`;
}

function where({ base }: TestTarget): Pick<RawRequest, "host" | "port" | "isSecure"> {
  const isSecure = base.protocol === "https:";
  const port = base.port === "" ? (isSecure ? 443 : 80) : Number(base.port);
  // Node's URL keeps the brackets of an IPv6 address.
  return { host: base.hostname.replace(/^\[(.*)\]$/, "$1"), port, isSecure };
}

function replyTo({ response }: OpenRequest): Promise<RequestReply> {
  return response.catch((error: unknown) => ({ lost: unreachedTarget(error).reason }));
}

/** Whether it was there in time. A rejection is not. */
async function within(what: Promise<unknown>, ms: number): Promise<boolean> {
  const timer = new AbortController();
  const isIn = what.then(
    () => true,
    () => false,
  );
  const isOver = pause(ms, false, { signal: timer.signal }).catch(() => false);
  const is = await Promise.race([isIn, isOver]);
  timer.abort();
  return is;
}

/** Runs the command to its end, and waits until the server answers. Throws if either fails. */
async function restart(target: TestTarget): Promise<void> {
  const child = spawn(target.restartCommand ?? "", { shell: true, stdio: ["ignore", "ignore", "inherit"] });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
  if (code !== 0) throw new Error(`--restart-command ended with ${code ?? "a signal"}`);
  const giveUpAt = Date.now() + target.timeoutMs;
  while ("lost" in (await askServer(target, "GET", "/.well-known/idempotency", POLL_MS * 10))) {
    if (Date.now() > giveUpAt) throw new Error("the server does not answer after --restart-command");
    await pause(POLL_MS);
  }
}
