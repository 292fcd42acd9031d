// How the origin gets the key of an operation: in which headers, and in which form. For an origin that knows keys, another form is another
// operation, and acts again. So a record keeps the form of its first attempt, and every later attempt, and every verification, has that
// form, whatever the settings have become. The key itself is not part of a form: each request brings it, and an encrypted record must not tell it.

import { isPlainInPath } from "../record/verification-answer.ts";
import { KEY_FORM_LINE } from "../record/record-fault.ts";
import type { HeaderPairs } from "./headers.ts";
import { quotedString } from "./key-text.ts";
import type { ExchangeHead, OriginCall, Verification } from "./message.ts";

/** A key as the origin gets it. */
export interface OriginKey {
  readonly text: string;
  /** A line for each header, such as `Idempotency-Key: "{key}:charge"`; empty: the origin gets no key. */
  readonly form: string;
  /** Headers of the client that are no key of the route's, and that those of this form replace. */
  readonly replaced?: HeaderPairs;
}

/** Stands for the key in the URL of a verification, as a URL has `{key}` in its path. */
export const KEY_IN_URL = "%7Bkey%7D";

/** `pairs` are the headers that have the key, by itself or as the beginning of their values. */
export function originKey(text: string, pairs: HeaderPairs): OriginKey {
  const lines = pairs.flatMap(([name, value]) => {
    const quote = value.startsWith('"') ? '"' : "";
    const written = writtenIn(quote, text);
    return value.startsWith(written) ? [`${name}: ${quote}{key}${value.slice(written.length)}`] : [];
  });
  return { text, form: lines.join("\n") };
}

/** The key as a value begins with it. */
function writtenIn(quote: string, text: string): string {
  return quote === "" ? text : quotedString(text).slice(0, -1);
}

/** The call as the record's first attempt was made; `form` is the record's. */
export function callInForm(call: OriginCall, form: string | null): OriginCall {
  const { key, headers } = call;
  if (key === undefined || form === null || form === key.form) return call;
  return { ...call, key: { ...key, form }, headers: headersInForm(headers, key, form) };
}

/** The head's verification of an attempt with this form; `null`: this key cannot be asked about in this form. */
export function verificationInForm(
  { verification, call: { key } }: Pick<ExchangeHead, "verification" | "call">,
  form: string | null,
): Verification | null {
  if (verification === null) return null;
  const { keyed, namesKey = false, ...plain } = verification;
  if (key === undefined || form === null || form === key.form) return plain;
  if (namesKey) return null;
  if (plain.state !== undefined) return { ...plain, headers: headersInForm(plain.headers, key, form) };
  if (keyed === undefined) return plain;
  const asked = keyOf(form, key.text);
  if (!isPlainInPath(asked)) return null;
  const url = keyed.replaceAll(KEY_IN_URL, encodeURIComponent(asked));
  return { ...plain, url, headers: headersInForm(plain.headers, key, form) };
}

/** The same as a record keeps it. */
export function verificationText(
  head: Pick<ExchangeHead, "verification" | "call">,
  form: string | null,
): string | null {
  const verification = verificationInForm(head, form);
  return verification === null ? null : storedVerification(verification);
}

/** A verification by state is stored so that an older release cannot read it: that would believe any 2xx, and so it leaves the outcome to a person. */
export function storedVerification(verification: Verification): string {
  return JSON.stringify(verification.state === undefined ? verification : { byState: verification });
}

function headersInForm(headers: HeaderPairs, key: OriginKey, form: string): HeaderPairs {
  const pairs = pairsOf(form, key.text);
  const given = namesOf(pairs);
  const names = new Set([...given, ...namesOf(pairsOf(key.form, key.text))]);
  const restored = (key.replaced ?? []).filter(([name]) => !given.has(name.toLowerCase()));
  return [...headers.filter(([name]) => !names.has(name.toLowerCase())), ...restored, ...pairs];
}

function namesOf(pairs: HeaderPairs): Set<string> {
  return new Set(pairs.map(([name]) => name.toLowerCase()));
}

function pairsOf(form: string, text: string): HeaderPairs {
  return form.split("\n").flatMap((line) => {
    const [, name, quote, rest] = KEY_FORM_LINE.exec(line) ?? [];
    if (name === undefined || quote === undefined || rest === undefined) return [];
    return [[name, writtenIn(quote, text) + rest]];
  });
}

/** The key of the operation as the origin knows it: with the step, if the form has one. */
function keyOf(form: string, text: string): string {
  return text + (/\{key\}(:[^";\n]*)/.exec(form)?.[1] ?? "");
}
