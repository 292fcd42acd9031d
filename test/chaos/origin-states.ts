// The states that the origin's resources have, and what it says of them. What it has done shows after a time below `settle`, may be undone, and stands
// beside what others have done: in a list among operations with the same reference or the same amount, in a resource as the same transition.

import { createHash } from "node:crypto";
import type { Effect, OriginMarks, Undo, Verification } from "../guarantees/history.ts";
import { digestHead, itemOf, sha256 } from "../guarantees/recorders/marks.ts";
import type { Asked, Said } from "../guarantees/recorders/verifications.ts";
import { SETTLE_MS, type StateKind } from "./routes.ts";
import { RESOURCE_PATH } from "./steps.ts";

/** One thing that was done to a resource. */
interface Deed {
  readonly effect: Effect;
  readonly amount: number;
  readonly shownFrom: number;
  isUndone: boolean;
}

/** An amount that no client asks for. */
const OTHERS_AMOUNT = 555;
const HEADERS = [["Content-Type", "application/json"]] as const;

/** What is read of a state: its text, what it says, and the part of it that retries get. */
interface StateRead {
  readonly text: string;
  readonly says: NonNullable<Verification["state"]>["says"];
  readonly effect: string | null;
  readonly item: string | null;
}

export class States {
  readonly #report: (event: Effect | Undo) => void;
  /** By key, scope and credential: nobody sees what others have done with the same key. */
  readonly #deeds = new Map<string, Deed[]>();
  #foreign = 0;

  constructor(report: (event: Effect | Undo) => void) {
    this.#report = report;
  }

  /** `start`: how the request's body begins. */
  acted(effect: Effect, kind: StateKind, start: string): void {
    const amount = Number(/"amount":(\d+)/.exec(start)?.[1] ?? 0);
    this.#add({ effect, amount, shownFrom: effect.at + lagOf(effect.id, SETTLE_MS[kind]), isUndone: false });
  }

  undo(effect: Effect): void {
    const deed = this.#deedsOf(effect).find((one) => one.effect === effect);
    if (deed === undefined) throw new Error(`${effect.id} cannot be undone: nobody has done it`);
    deed.isUndone = true;
    const { id, key, scope } = effect;
    this.#report({ type: "undo", effect: id, key, scope, at: Date.now() });
  }

  /** What it says about `url` to the credential that asks. */
  say(url: string, asked: Asked, seq: number, request: string): Said {
    const { key, scope, mode } = asked;
    const isResource = url.startsWith(RESOURCE_PATH);
    if (mode === "foreign" && isResource) this.#actForeign(asked);
    const now = Date.now();
    const seen = mode === "stale" ? [] : this.#deedsOf(asked).filter((deed) => deed.isUndone || deed.shownFrom <= now);
    const marks = (effect: string | null): OriginMarks => ({ arrival: seq, request, key, scope, effect, bytes: 0 });
    const read = isResource ? readResource(seen, mode, marks) : readList(seen, mode, marks, amountIn(url), key);
    const headers = [...HEADERS, ...(mode === "stale" ? [["Age", "7"] as const] : [])];
    const says = mode === "stale" && read.says === "not-happened" ? "open" : read.says;
    const given =
      read.item === null || says !== "happened" ? null : givenOf(read.item, isResource ? null : read.effect);
    return { effect: read.effect, state: { says, given }, status: 200, headers, body: Buffer.from(read.text) };
  }

  #add(deed: Deed): void {
    this.#deeds.set(nameOf(deed.effect), [...this.#deedsOf(deed.effect), deed]);
  }

  #deedsOf(caller: Pick<Asked, "key" | "scope" | "credential">): readonly Deed[] {
    return this.#deeds.get(nameOf(caller)) ?? [];
  }

  #actForeign({ key, scope, credential }: Asked): void {
    this.#foreign += 1;
    const at = Date.now();
    const effect: Effect = {
      type: "effect",
      id: `foreign-${this.#foreign}`,
      arrival: 0,
      request: "",
      key,
      scope,
      credential,
      attempt: null,
      at,
    };
    this.#report(effect);
    this.#add({ effect, amount: 0, shownFrom: at, isUndone: false });
  }
}

function nameOf({ key, scope, credential }: Pick<Asked, "key" | "scope" | "credential">): string {
  return JSON.stringify([key, scope, credential]);
}

/** Each effect has its own, below `settleMs`. */
function lagOf(id: string, settleMs: number): number {
  return createHash("sha256").update(id).digest().readUInt32LE(0) % settleMs;
}

function readResource(
  deeds: readonly Deed[],
  mode: Asked["mode"],
  marks: (effect: string | null) => OriginMarks,
): StateRead {
  const last = deeds.findLast(({ isUndone }) => !isUndone) ?? deeds.at(-1);
  if (last?.isUndone === true) return open(itemOf(marks(null), { status: "canceled" }));
  if (last !== undefined) {
    const { id } = last.effect;
    const item = itemOf(marks(id), { status: "done", by: id });
    return { text: item, says: "happened", effect: id, item };
  }
  if (mode === "part") return open(itemOf(marks(null), { status: "in_progress" }));
  if (mode === "near") return open(itemOf(marks(null), { status: "Open" }));
  const item = itemOf(marks(null), { status: "open" });
  if (mode === "odd") return open(item.replace("{", '{"status":"open",'));
  return { text: item, says: "not-happened", effect: null, item: null };
}

function readList(
  deeds: readonly Deed[],
  mode: Asked["mode"],
  marks: (effect: string | null) => OriginMarks,
  amount: number,
  reference: string,
): StateRead {
  // A page that is cut before them.
  const own = mode === "part" ? [] : deeds;
  const items = own.map((deed) => ({ deed, item: ownItem(deed, reference, marks) }));
  const others = [
    { id: "o1", reference, amount: OTHERS_AMOUNT, status: "done" },
    { id: "o2", reference: `other-${reference}`, amount, status: "done" },
    ...(mode === "near" ? [{ id: "o3", reference: reference.toUpperCase(), amount, status: "done" }] : []),
  ].map((other) => JSON.stringify(other));
  const all = [...others.slice(0, 1), ...items.map(({ item }) => item), ...others.slice(1)];
  const more = mode === "part" ? ',"has_more":true' : mode === "odd" ? "" : ',"has_more":false';
  const text = `{"data":[${all.join(",")}]${more}}`;
  const same = items.filter(({ deed }) => deed.amount === amount);
  const done = same.filter(({ deed }) => !deed.isUndone);
  const [one] = done;
  if (done.length === 1 && one !== undefined)
    return { text, says: "happened", effect: one.deed.effect.id, item: one.item };
  const saysNo = same.length === 0 && mode !== "near" && mode !== "part" && mode !== "odd";
  return saysNo ? { text, says: "not-happened", effect: null, item: null } : open(text);
}

function ownItem(
  { effect: { id }, amount, isUndone }: Deed,
  reference: string,
  marks: (effect: string | null) => OriginMarks,
): string {
  return itemOf(marks(id), { id, reference, amount, status: isUndone ? "canceled" : "done" });
}

function open(text: string): StateRead {
  return { text, says: "open", effect: null, item: null };
}

function amountIn(url: string): number {
  return Number(new URL(url, "http://origin").searchParams.get("amount"));
}

/** What retries get: the item, as the route's settings say. `element`: its id in the list; `null`: it is the resource. */
function givenOf(item: string, element: string | null): Pick<Verification, "status" | "headers" | "sha256"> {
  const status = element === null ? 200 : 201;
  const location = element === null ? [] : [["Location", `/orders/${element}`] as const];
  return {
    status,
    headers: digestHead(status, "", [...HEADERS, ...location]),
    sha256: sha256(item),
  };
}
