// Reads the signatures of a request (RFC 9421), and makes the text that each has signed. It supports the components that UCP and Web Bot Auth use,
// and refuses every other: a component that is read otherwise than it was signed would let one caller pass for another. Nothing here is proved yet.

import {
  type BareItem,
  type Dictionary,
  type InnerList,
  type Item,
  parseDictionary,
  serializeInnerList,
  serializeItem,
} from "structured-headers";
import type { SignatureFault } from "../../../kernel/record/caller-problem.ts";
import { declaredLength, type HeadersView } from "../../../kernel/request/headers.ts";

/** A request as its signer knows it. */
export interface SignedMessage {
  readonly method: string;
  /** The host that the client named, in lower case, without the scheme's own port. */
  readonly authority: string;
  readonly path: string;
  /** With its question mark; empty if there is none. */
  readonly search: string;
  readonly headers: HeadersView;
  /** Those in which its idempotency key may be; names in lower case. */
  readonly keyHeaders: readonly string[];
}

export interface MessageSignature {
  readonly label: string;
  readonly keyId: string;
  readonly isWebBotAuth: boolean;
  /** As the signer calls it; `null`: not at all. */
  readonly algorithm: string | null;
  /** Seconds since the epoch. */
  readonly created: number | null;
  readonly expires: number | null;
  /** The names of the components that it covers. */
  readonly covered: ReadonlySet<string>;
  /** Of which member of `Signature-Agent` it covers no more; `null`: it covers all of it, or nothing. */
  readonly agentMember: string | null;
  readonly base: Uint8Array;
  readonly signature: Uint8Array;
}

export type ReadSignature = MessageSignature | SignatureFault;

/** Each may need keys of its own. */
const MAX_SIGNATURES = 4;

/** Few servers accept longer headers. */
const MAX_LENGTH = 8 * 1024;

const MAX_COMPONENTS = 50;

/** The signatures in the order of `Signature-Input`. */
export function readSignatures(message: SignedMessage): readonly ReadSignature[] {
  const [input, value] = [message.headers.get("signature-input"), message.headers.get("signature")];
  if (input === null || value === null) {
    const lacking = input === null ? "Signature-Input" : "Signature";
    return [{ fault: "signature-missing", reason: `The request has no ${lacking} header.` }];
  }
  const [inputs, signatures] = [dictionaryOf(input), dictionaryOf(value)];
  if (inputs === null) return [invalidSignature("Signature-Input is no dictionary with one member for each label.")];
  if (signatures === null) return [invalidSignature("Signature is no dictionary with one member for each label.")];
  if (inputs.size === 0) return [{ fault: "signature-missing", reason: "Signature-Input names no signature." }];
  if (inputs.size > MAX_SIGNATURES)
    return [invalidSignature(`The request has more than ${MAX_SIGNATURES} signatures.`)];
  return [...inputs].map(([label, signed]) => readSignature(message, label, signed, signatures.get(label)));
}

function readSignature(
  message: SignedMessage,
  label: string,
  signed: Item | InnerList,
  given: Item | InnerList | undefined,
): ReadSignature {
  const of = `The signature "${label}"`;
  if (!isInnerList(signed)) return invalidSignature(`${of} lists no components in Signature-Input.`);
  const signature = given === undefined || isInnerList(given) ? null : given[0];
  if (!(signature instanceof ArrayBuffer)) return invalidSignature(`${of} has no bytes in Signature.`);
  const [items, parameters] = signed;
  const text = (name: string): string | null => {
    const value = parameters.get(name);
    return typeof value === "string" ? value : null;
  };
  const [keyId, tag, algorithm] = [text("keyid"), text("tag"), text("alg")];
  if (keyId === null) return invalidSignature(`${of} names no key: it needs keyid.`);
  if (parameters.has("tag") && tag !== WEB_BOT_AUTH)
    return invalidSignature(`${of} has a tag that is not "${WEB_BOT_AUTH}".`);
  if (parameters.has("alg") && algorithm === null) return invalidSignature(`${of} has an alg that is no text.`);
  const [created, expires] = [timeIn(parameters.get("created")), timeIn(parameters.get("expires"))];
  if (created === undefined || expires === undefined)
    return invalidSignature(`${of} has a time that is no whole number.`);
  if (items.length > MAX_COMPONENTS) return invalidSignature(`${of} covers more than ${MAX_COMPONENTS} components.`);
  const lines: string[] = [];
  const covered = new Set<string>();
  let agentMember: string | null = null;
  for (const [name, options] of items) {
    if (typeof name !== "string" || covered.has(name))
      return invalidSignature(`${of} lists a component twice, or no name.`);
    covered.add(name);
    const member = options.get("key") ?? null;
    const isPlain = options.size === (member === null ? 0 : 1);
    if (!isPlain || (member !== null && (name !== "signature-agent" || typeof member !== "string"))) {
      return invalidSignature(`${of} covers ${JSON.stringify(name)} with a parameter that is not supported.`);
    }
    if (typeof member === "string") agentMember = member;
    const value = agentMember === null || member === null ? componentOf(message, name) : agentOf(message, agentMember);
    if (value === null)
      return invalidSignature(`${of} covers ${JSON.stringify(name)}, which the request does not have.`);
    lines.push(`${serializeItem([name, options])}: ${value}`);
  }
  lines.push(`"@signature-params": ${serializeInnerList(signed)}`);
  return {
    label,
    keyId,
    isWebBotAuth: tag !== null,
    algorithm,
    created,
    expires,
    covered,
    agentMember,
    base: new TextEncoder().encode(lines.join("\n")),
    signature: new Uint8Array(signature),
  };
}

const WEB_BOT_AUTH = "web-bot-auth";

/** A field's name in lower case (RFC 9110, section 5.1). */
const FIELD = /^[a-z0-9!#$%&'*+.^_`|~-]+$/;

/** `null`: the request has no such component, or none that all who read it read alike. */
function componentOf({ method, authority, path, search, headers }: SignedMessage, name: string): string | null {
  switch (name) {
    case "@method":
      return method;
    case "@authority":
      return authority;
    case "@path":
      return path;
    case "@query":
      return search === "" ? "?" : search;
    default: {
      const value = FIELD.test(name) ? headers.get(name) : null;
      // The runtime replaces other bytes, so that different values would look the same.
      return value !== null && /^[\t\u{20}-\u{7e}]*$/u.test(value) ? value.trim() : null;
    }
  }
}

/** One member of `Signature-Agent`, as it is signed (RFC 9421, section 2.1.2). */
function agentOf({ headers }: SignedMessage, member: string): string | null {
  const found = dictionaryOf(headers.get("signature-agent") ?? "")?.get(member);
  return found === undefined || isInnerList(found) ? null : serializeItem(found);
}

/**
 * A dictionary (RFC 9651, section 3.2); `null` if it is none, or has a member twice: of two, parsers disagree about which one counts.
 */
export function dictionaryOf(text: string): Dictionary | null {
  if (text.length > MAX_LENGTH || text.includes('%"')) return null;
  try {
    const dictionary = parseDictionary(text);
    // Commas stand between members or in strings.
    const members = text.trim() === "" ? 0 : text.replaceAll(/"(?:[^"\\]|\\.)*"/g, "").split(",").length;
    return dictionary.size === members ? dictionary : null;
  } catch {
    return null;
  }
}

export function isInnerList(member: Item | InnerList): member is InnerList {
  return Array.isArray(member[0]);
}

/** `null`: none; `undefined`: no time. */
function timeIn(value: BareItem | undefined): number | null | undefined {
  if (value === undefined) return null;
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : undefined;
}

export function invalidSignature(reason: string): SignatureFault {
  return { fault: "signature-invalid", reason };
}

/** Whether the request says that a body follows. */
export function declaresBody(headers: HeadersView): boolean {
  return (declaredLength(headers) ?? 0) > 0 || headers.has("transfer-encoding");
}

/** The components that a signature of this request has to cover (UCP, Identity Resolution Algorithm, step 5). The body may add to them. */
export function neededComponents({ search, headers, keyHeaders }: SignedMessage): readonly string[] {
  const hasBody = declaresBody(headers);
  return [
    "@method",
    "@authority",
    "@path",
    ...(search === "" ? [] : ["@query"]),
    ...(hasBody || headers.has("content-digest") ? ["content-digest"] : []),
    ...(hasBody ? ["content-type"] : []),
    ...["idempotency-key", "ucp-agent", "signature-agent", ...keyHeaders].filter((name) => headers.has(name)),
  ];
}

/** The SHA-256 that `Content-Digest` has (RFC 9530); `null` if it has none. */
export function digestIn(headers: HeadersView): Uint8Array | null {
  const member = dictionaryOf(headers.get("content-digest") ?? "")?.get("sha-256");
  const value = member === undefined || isInnerList(member) ? null : member[0];
  return value instanceof ArrayBuffer && value.byteLength === 32 ? new Uint8Array(value) : null;
}
