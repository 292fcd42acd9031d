// What it costs to compare a body, and how long nobody else is answered meanwhile: for each form of comparison, and for the
// bodies that are dearest in it, each of as many bytes as are read: 256 KiB of JSON, a mebibyte of all else. In Node, whose engine is the runtime's: there a clock runs also while
// code runs.
//
//   npm run bench -- fingerprint [--rounds 9] [--only form]

import { sha256 } from "../../src/kernel/request/digest.ts";
import { canonicalForm } from "../../src/kernel/request/form-pairs.ts";
import { MAX_JSON_BYTES, scanJson } from "../../src/kernel/request/json.ts";
import { selectJson } from "../../src/kernel/request/json-pointer.ts";
import { canonicalMultipart } from "../../src/features/forms/multipart.ts"; // feature: forms
import { canonicalJson } from "../support/canonical-json.ts";
import { WORST_JSON } from "../support/worst-json.ts";
import { encoded, filled, MEBIBYTE, printHead, row as measured } from "./longest-stretch.ts";

/** What is done before the digest; `null`: the body is digested as it is. */
type Work = ((body: Uint8Array) => Generator<undefined, Uint8Array | null>) | null;

/** The milliseconds of each stretch of one run. */
async function stretches(body: Uint8Array, work: Work): Promise<readonly number[]> {
  const times: number[] = [];
  let canonical: Uint8Array | null = null;
  if (work !== null) {
    const slices = work(body);
    for (;;) {
      const begun = performance.now();
      const step = slices.next();
      times.push(performance.now() - begun);
      if (step.done !== true) continue;
      canonical = step.value;
      break;
    }
  }
  const begun = performance.now();
  await sha256(canonical ?? body);
  return [...times, performance.now() - begun];
}

const row = (name: string, body: Uint8Array, work: Work): Promise<void> => measured(name, () => stretches(body, work));

/** As many names as a route may list, so that each name in the body is compared with all of them. */
const POINTERS = Array.from({ length: 32 }, (_, at) => `/${String(at).padStart(4, "0")}`);
const MANY = Object.fromEntries(Array.from({ length: 25_000 }, (_, at) => [String(at + 1000), at % 10]));

/** Canonical form and selection, as a request costs. */
function* selected(body: Uint8Array, kind: "except" | "only", pointers: readonly string[]) {
  const whole = yield* scanJson(body, "compared");
  const text = typeof whole === "string" ? null : yield* selectJson(whole, { kind, pointers });
  if (text === null) return null;
  yield;
  return encoded(text);
}

function* form(body: Uint8Array): Generator<undefined, Uint8Array | null> {
  const canonical = yield* canonicalForm(body, null);
  return canonical === null ? null : canonical.bytes;
}

const pairs = (name: (at: number) => string, value: string): string =>
  Array.from({ length: 2_000 }, (_, at) => `${name((at * 7919) % 2_000)}=${value}`).join("&");

// feature: forms begins
const BOUNDARY = "----formdata-undici-012345678901";
const HEAD = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n`;
const multipart = (content: string): string =>
  `${HEAD}${content.slice(0, MEBIBYTE - HEAD.length - BOUNDARY.length - 6)}\r\n--${BOUNDARY}--`;
const byParts = (body: Uint8Array) => canonicalMultipart(body, BOUNDARY);
const random = (): string => {
  const bytes = new Uint8Array(MEBIBYTE);
  for (let at = 0; at < MEBIBYTE; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  return Buffer.from(bytes).toString("hex").slice(0, MEBIBYTE);
};
// feature: forms ends

printHead("the dearest bodies");
const bytes = new Uint8Array(MEBIBYTE).fill(0x61);
await row("bytes: any", bytes, null);
for (const [name, text] of Object.entries(WORST_JSON)) await row(`json: ${name}`, encoded(text), canonicalJson);
const select = (kind: "except" | "only", pointers: readonly string[]) => (body: Uint8Array) =>
  selected(body, kind, pointers);
const object = JSON.stringify({ a: filled("x", MAX_JSON_BYTES - 40), timestamp: 1 });
await row("selection: except one member, one string", encoded(object), select("except", ["/timestamp"]));
await row("selection: only 32 of 25,000 members", encoded(JSON.stringify(MANY)), select("only", POINTERS));
await row(
  "selection: except an element of 130,000",
  encoded(`{"a":[${filled("1,", MAX_JSON_BYTES - 40)}1]}`),
  select("except", ["/a/129999"]),
);
await row("form: 2,000 pairs", encoded(pairs((at) => `name${at}`, "x".repeat(500))), form);
await row("form: 2,000 long names that begin alike", encoded(pairs((at) => `${"n".repeat(500)}${at}`, "1")), form);
await row("form: one value of escapes", encoded(`a=${filled("%41").slice(0, -3)}`), form);
await row("form: two-byte pairs, refused", encoded(filled("a&")), form);
// feature: forms begins
await row("multipart: a file of random text", encoded(multipart(random())), byParts);
await row("multipart: a file of dashes", encoded(multipart(filled("-"))), byParts);
await row("multipart: a file of almost-boundaries", encoded(multipart(filled(`--${BOUNDARY.slice(0, -1)}`))), byParts);
await row(
  "multipart: as many parts as fit",
  encoded(`${filled(`--${BOUNDARY}\r\n\r\n`).slice(0, -(BOUNDARY.length + 4))}--${BOUNDARY}--`),
  byParts,
);
// feature: forms ends
