// What a response says took effect: the value at a pointer of its JSON.

import { pointerTokens } from "../../kernel/config/values.ts";
import { readBounded } from "../../kernel/request/body.ts";
import { ByteBudget } from "../../kernel/request/byte-budget.ts";
import { findInJson } from "../../kernel/request/json-pointer.ts";
import { MAX_JSON_BYTES } from "../../kernel/request/json.ts";
import { bodySlicer } from "../../kernel/request/key-places.ts";

const MAX_EFFECT_LENGTH = 4096;

/** What is unpacked at the same time. */
const memory = new ByteBudget(4 << 20, 60_000);

/** `null`: no such value, or a body that cannot be read. `encoding`: its `Content-Encoding`. */
export async function effectIn(bytes: Uint8Array, encoding: string | null, pointer: string): Promise<string | null> {
  const plain = await unpacked(bytes, encoding?.trim().toLowerCase() ?? "identity").catch(() => null);
  if (plain === null || plain.byteLength === 0) return null;
  const found = await bodySlicer.run(findInJson(plain, [pointerTokens(pointer)], MAX_EFFECT_LENGTH));
  if (typeof found === "string") return null;
  const [first] = found;
  return first !== undefined && found.length === 1 && "text" in first.value ? first.value.text : null;
}

/** `null`: in a way that the runtime cannot unpack, or too large. */
async function unpacked(bytes: Uint8Array, encoding: string): Promise<Uint8Array | null> {
  if (encoding === "identity" || encoding === "") return bytes;
  if (encoding !== "gzip" && encoding !== "deflate") return null;
  const stream = new Response(bytes).body?.pipeThrough(new DecompressionStream(encoding)) ?? null;
  const body = await readBounded(stream, {
    limitBytes: MAX_JSON_BYTES,
    budget: memory,
    idleMs: 5000,
    unlessHeld: "refuse",
    caller: null,
  });
  if (body.kind === "whole") return body.body.bytes;
  body.rest?.cancel();
  return null;
}
