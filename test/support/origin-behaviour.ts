// How tests script the origin: the shape of one scripted answer or fault, and which script a request gets. Order: the
// request's own `x-behave` header, then a script for its key, then the longest path prefix. A sequence is consumed per path
// and key, one step per request; its last step repeats. The header holds JSON in ASCII: other characters are sent as `\u00e9`
// or in `bodyBase64`. Also holds requests until the test releases them.

import * as v from "valibot";

const piece = v.union([
  v.string(),
  v.strictObject({ text: v.optional(v.string()), base64: v.optional(v.string()), pauseMs: v.optional(v.number()) }),
]);

const behaviourSchema = v.strictObject({
  /** 200 by default. */
  status: v.optional(v.pipe(v.number(), v.integer(), v.minValue(200), v.maxValue(999))),
  statusText: v.optional(v.string()),
  /** Sent in this order and case, repeats included. `Content-Length` is added unless given or `chunked`. */
  headers: v.optional(v.array(v.tuple([v.string(), v.string()]))),
  body: v.optional(v.string()),
  bodyBase64: v.optional(v.string()),
  /** Pieces of the body, each after its own pause. They are sent with chunked encoding unless `chunked` is false. */
  chunks: v.optional(v.array(piece)),
  chunked: v.optional(v.boolean()),
  /** A body from a seed (origin-bytes.ts), in pieces of 64 KiB. With `drop: "mid-body"` only `sentBytes` of it are sent. */
  generated: v.optional(v.strictObject({ seed: v.string(), bytes: v.number(), sentBytes: v.optional(v.number()) })),
  /** Delay after the effect and before the headers. */
  delayMs: v.optional(v.number()),
  /** Wait for `/release` before the headers. */
  hold: v.optional(v.boolean()),
  /** Wait for `/release` after the headers, or after this many pieces of the body. */
  holdBody: v.optional(v.union([v.boolean(), v.number()])),
  /** Where the connection is lost. `mid-body` sends all but the last byte, or all but the last chunk's end mark. */
  drop: v.optional(v.picklist(["before-read", "after-read", "after-effect", "mid-body"])),
  /** Whether this counts as an effect. True by default, except with `drop: "before-read"`. */
  effect: v.optional(v.boolean()),
});

const scriptSchema = v.union([
  behaviourSchema,
  v.strictObject({ sequence: v.pipe(v.array(behaviourSchema), v.minLength(1)) }),
]);

const placementSchema = v.strictObject({
  path: v.optional(v.string()),
  key: v.optional(v.string()),
  script: scriptSchema,
});

export type Behaviour = v.InferOutput<typeof behaviourSchema>;
export type Script = v.InferOutput<typeof scriptSchema>;
/** Where a script applies: to a path prefix, to a key, or to every request if neither is given. */
export type Placement = v.InferOutput<typeof placementSchema>;

export function parsePlacement(input: unknown): Placement {
  return v.parse(placementSchema, input);
}

export interface ScriptedRequest {
  readonly path: string;
  readonly key: string | null;
  readonly behaveHeader: string | undefined;
}

export interface Scripts {
  place(placement: Placement): void;
  /** Null: nothing is scripted. Throws if the `x-behave` header is not a script. */
  choose(request: ScriptedRequest): Behaviour | null;
  clear(): void;
}

interface Placed {
  readonly placement: Placement;
  /** Steps consumed, by path and key. */
  readonly used: Map<string, number>;
}

export function createScripts(): Scripts {
  let placed: Placed[] = [];
  const fromHeaders = new Map<string, Placed>();

  function fromHeader(text: string): Placed {
    const known = fromHeaders.get(text);
    if (known !== undefined) return known;
    const parsed: unknown = JSON.parse(text);
    const fresh = { placement: { script: v.parse(scriptSchema, parsed) }, used: new Map<string, number>() };
    fromHeaders.set(text, fresh);
    return fresh;
  }

  function fromPlaced(request: ScriptedRequest): Placed | null {
    let best: Placed | null = null;
    for (const candidate of placed) {
      if (!applies(candidate.placement, request)) continue;
      // At the same rank the later script wins, so a test can replace an earlier one.
      if (best === null || rank(candidate.placement) >= rank(best.placement)) best = candidate;
    }
    return best;
  }

  return {
    place(placement) {
      placed.push({ placement, used: new Map() });
    },
    choose(request) {
      const found = request.behaveHeader === undefined ? fromPlaced(request) : fromHeader(request.behaveHeader);
      return found === null ? null : nextStep(found, request);
    },
    clear() {
      placed = [];
      fromHeaders.clear();
    },
  };
}

function applies(placement: Placement, request: ScriptedRequest): boolean {
  if (placement.key !== undefined && placement.key !== request.key) return false;
  return placement.path === undefined || request.path.startsWith(placement.path);
}

/** A key outranks every path; among paths the longer prefix wins. */
function rank(placement: Placement): number {
  return (placement.key === undefined ? 0 : 1_000_000) + (placement.path?.length ?? 0);
}

function nextStep(found: Placed, request: ScriptedRequest): Behaviour | null {
  const chosen = found.placement.script;
  if (!("sequence" in chosen)) return chosen;
  const slot = `${request.path} ${request.key ?? ""}`;
  const step = found.used.get(slot) ?? 0;
  found.used.set(slot, step + 1);
  return chosen.sequence[Math.min(step, chosen.sequence.length - 1)] ?? null;
}

/**
 * Requests that the origin holds until the test releases them. A hold is registered in the same turn in which the request
 * counts as arrived, so a test that has seen the arrival can always release it.
 */
export interface Hold {
  readonly released: Promise<void>;
}

export interface Holds {
  add(key: string | null): Hold;
  /** Null releases all. Returns how many requests continued. */
  release(key: string | null): number;
}

export function createHolds(): Holds {
  const held = new Set<{ readonly key: string | null; readonly open: () => void }>();
  return {
    add(key) {
      const { promise, resolve } = Promise.withResolvers<void>();
      held.add({ key, open: resolve });
      return { released: promise };
    },
    release(key) {
      let count = 0;
      for (const hold of held) {
        if (key !== null && hold.key !== key) continue;
        held.delete(hold);
        hold.open();
        count += 1;
      }
      return count;
    },
  };
}
