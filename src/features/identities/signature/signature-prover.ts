// Proves who has signed a request (RFC 9421), as UCP's Identity Resolution Algorithm says: the caller is the URL that gave the key. Headers and
// settings decide which URL that is; keys can only confirm it. The body is compared later with the digest that the signature covers.
//
//   each signature: URL named and trusted → covers what it must → in its time → its key → verified: this caller
//                                    otherwise the next one; the first one's fault counts

import type { AgentHeader, SignatureRule } from "../../../kernel/config/identity.ts";
import { keyHeaders } from "../../../kernel/config/key-source.ts";
import type { SignatureFault } from "../../../kernel/record/caller-problem.ts";
import type { ClientProblem } from "../../../kernel/record/problem.ts";
import type { CallerRequest } from "../../../kernel/request-feature.ts";
import { sha256 } from "../../../kernel/request/digest.ts";
import { isHost, requestedHost } from "../../../kernel/request/host.ts";
import type { JwtPorts } from "../../../kernel/request/jwt-prover.ts";
import type { CallerProof, CheckBody } from "../../../kernel/request/scope.ts";
import { Token } from "structured-headers";
import { type AgentKeySet, AgentKeys } from "./agent-keys.ts";
import { agentUrl, trustOf } from "./agent-url.ts";
import {
  dictionaryOf,
  digestIn,
  invalidSignature,
  isInnerList,
  type MessageSignature,
  neededComponents,
  readSignatures,
  type SignedMessage,
} from "./message-signature.ts";
import { keysNamed, type SignatureKey } from "./signature-key.ts";

/** How far the signer's clock may be from this one. */
const CLOCK_TOLERANCE_SECONDS = 30;

/** Where an origin has its directory of keys (draft-meunier-webbotauth-httpsig-directory, section 5.2). */
const DIRECTORY_PATH = "/.well-known/http-message-signatures-directory";

export class SignatureProver {
  readonly #rule: SignatureRule;
  readonly #keys: AgentKeys;

  constructor(rule: SignatureRule, ports: JwtPorts) {
    this.#rule = rule;
    this.#keys = new AgentKeys(ports);
  }

  async prove(request: CallerRequest): Promise<CallerProof> {
    const message = messageOf(request);
    let firstFault: Fault | null = null;
    /** Of a signature that is good at another time, or may be by a key that is not known yet: whoever sends it twice must not become another caller. */
    let undecidedUrl: string | null = null;
    for (const signature of readSignatures(message)) {
      if ("fault" in signature) {
        firstFault ??= { why: "invalid", signature };
        continue;
      }
      const found = this.#agentOf(signature, message);
      if ("fault" in found) {
        firstFault ??= { why: "invalid", signature: found };
        continue;
      }
      if (undecidedUrl !== null && undecidedUrl !== found.url) continue;
      const untimely = untimelyFault(signature);
      if (untimely !== null) {
        firstFault ??= untimely;
        undecidedUrl ??= found.url;
        continue;
      }
      const proved = await this.#verify(signature, found);
      if (proved === "proved") return { value: found.url, checkBody: bodyCheck(signature, message) };
      // The next signature may name another caller, and a retry would then act again.
      if ("problem" in proved) return proved;
      if (proved.retryAfterMs !== undefined) undecidedUrl ??= found.url;
      firstFault ??= { why: "invalid", signature: proved };
    }
    return firstFault === null ? UNSIGNED : refuse(firstFault);
  }

  /** Whose keys a signature is made with, and whether it covers what makes it this request's. */
  #agentOf(signature: MessageSignature, message: SignedMessage): Agent | SignatureFault {
    const { label, covered, agentMember, isWebBotAuth, created, expires } = signature;
    const { agents, trust, freshness } = this.#rule;
    const header: AgentHeader = isWebBotAuth && agents.includes("signature-agent") ? "signature-agent" : "ucp-agent";
    const named = agents.includes(header) ? urlIn(message, header, label) : `The signature "${label}" has no tag.`;
    if (!(named instanceof URL)) return notTrusted(named);
    const trusted = trustOf(named, trust);
    if (trusted === null) return notTrusted("The URL with the keys of the signature is not trusted here.");
    const uncovered = neededComponents(message).find((name) => !covered.has(name));
    if (uncovered !== undefined) return uncoveredBy(label, uncovered);
    // Another signature's member says nothing about whose keys these are.
    if (header === "signature-agent" && agentMember !== null && agentMember !== label) {
      return uncoveredBy(label, `signature-agent";key="${label}`);
    }
    // Web Bot Auth demands both (draft-meunier-webbotauth-httpsig-protocol, section 4.2).
    if ((isWebBotAuth || freshness === "required") && (created === null || expires === null)) {
      return invalidSignature(`The signature "${label}" needs created and expires.`);
    }
    if (covered.has("content-digest") && digestIn(message.headers) === null) {
      return { fault: "digest-invalid", reason: "Content-Digest has no sha-256 that could be compared." };
    }
    return { url: named.href, isListed: trusted === "listed" };
  }

  async #verify(signature: MessageSignature, { url, isListed }: Agent): Promise<Verified> {
    const set = this.#keys.find(url, isListed);
    if ("retryAfterMs" in set) return { problem: { code: "identity-unavailable", retryAfterMs: set.retryAfterMs } };
    const keys = await set.keys();
    if (keys.kind === "unavailable") return unreachable(keys.retryAfterMs);
    const tried = await tryKeys(signature, keys.keys);
    return tried !== "unknown-key" ? tried : tryNewer(signature, set, keys.isNew);
  }
}

function untimelyFault({ label, created, expires }: MessageSignature): Fault | null {
  const now = Date.now() / 1000;
  if (created !== null && created > now + CLOCK_TOLERANCE_SECONDS) {
    return { why: "invalid", signature: invalidSignature(`The signature "${label}" was created in the future.`) };
  }
  if (expires !== null && expires + CLOCK_TOLERANCE_SECONDS <= now) {
    return { why: "expired", signature: invalidSignature(`The signature "${label}" has expired.`) };
  }
  return null;
}

interface Agent {
  /** Who the caller is. */
  readonly url: string;
  readonly isListed: boolean;
}

interface Fault {
  readonly why: "missing" | "expired" | "invalid";
  readonly signature: SignatureFault;
}

type Verified = "proved" | SignatureFault | { readonly problem: ClientProblem };

/** The set may be older than the key. */
async function tryNewer(signature: MessageSignature, set: AgentKeySet, isNew: boolean): Promise<Verified> {
  const unknown: SignatureFault = {
    fault: "key-not-found",
    reason: `The keys of its agent have none for the signature "${signature.label}"; for a new key they are fetched once a minute.`,
  };
  if (isNew) return unknown;
  const pauseMs = set.pauseMs(Date.now());
  if (pauseMs > 0) return { ...unknown, retryAfterMs: pauseMs };
  const newer = await set.newerKeys();
  if (newer.kind === "unavailable") return unreachable(newer.retryAfterMs);
  const tried = await tryKeys(signature, newer.keys);
  return tried === "unknown-key" ? unknown : tried;
}

async function tryKeys(
  { label, keyId, isWebBotAuth, algorithm, signature, base }: MessageSignature,
  keys: readonly SignatureKey[],
): Promise<"proved" | "unknown-key" | SignatureFault> {
  const named = await keysNamed(keys, keyId, isWebBotAuth);
  if (named.length === 0) return "unknown-key";
  const usable = named.filter((key) => key.algorithm !== null);
  if (usable.length === 0) {
    return {
      fault: "algorithm-unsupported",
      reason: "The signature's key is none for ed25519, ES256, ES384 or PS512.",
    };
  }
  const meant = usable.filter((key) => algorithm === null || key.algorithm === algorithm);
  if (meant.length === 0) return invalidSignature(`The signature "${label}" has another alg than its key.`);
  for (const key of meant) if (await key.verifies(signature, base)) return "proved";
  return invalidSignature(`The signature "${label}" is not one of this request by its key.`);
}

/** Compares the body with the digest that the signature covers. */
function bodyCheck({ label, covered }: MessageSignature, { headers }: SignedMessage): CheckBody {
  return async (bytes) => {
    const uncovered = ["content-digest", "content-type"].find((name) => !covered.has(name));
    if (bytes.byteLength > 0 && uncovered !== undefined) {
      return refuse({ why: "invalid", signature: uncoveredBy(label, uncovered) }).problem;
    }
    if (!covered.has("content-digest")) return null;
    const [digest, actual] = [digestIn(headers), await sha256(bytes)];
    if (digest !== null && actual.every((byte, at) => byte === digest[at])) return null;
    const reason = "The body is not the one whose digest is signed in Content-Digest.";
    return refuse({ why: "invalid", signature: { fault: "digest-invalid", reason } }).problem;
  };
}

function messageOf({ request, url, headers, route }: CallerRequest): SignedMessage {
  const forwarded = route.trustForwarded ? headers.get("x-forwarded-host") : null;
  // A list is no host, so no signature covers it.
  const sent = isHost(forwarded) ? URL.parse(`${url.protocol}//${forwarded ?? ""}`) : null;
  const authority = forwarded === null ? url : sent;
  return {
    method: request.method,
    authority: authority === null ? "" : requestedHost(authority),
    path: url.pathname,
    search: url.search,
    headers,
    keyHeaders: keyHeaders(route.keyFrom),
  };
}

/** The URL that a header names for the signature of a label; text: why there is none. */
function urlIn({ headers }: SignedMessage, header: AgentHeader, label: string): URL | string {
  const value = headers.get(header);
  const name = header === "ucp-agent" ? "UCP-Agent" : "Signature-Agent";
  if (value === null) return `The request has no ${name} header, which names the keys of the signature "${label}".`;
  const member = dictionaryOf(value)?.get(header === "ucp-agent" ? "profile" : label);
  const [text, options] = member === undefined || isInnerList(member) ? [] : member;
  if (typeof text !== "string") {
    return header === "ucp-agent"
      ? "UCP-Agent names no profile."
      : `Signature-Agent has no member for the signature "${label}".`;
  }
  const url = agentUrl(text);
  if (url === null) return `${name} has no https URL in a plain form.`;
  if (header === "ucp-agent") return url;
  const written = options?.get("type") ?? "directory";
  const type = written instanceof Token ? written.toString() : written;
  if (type === "jwks_uri") return url;
  if (type !== "directory") return "Signature-Agent has a type that is neither jwks_uri nor directory.";
  if (url.pathname + url.search !== "/") return "Signature-Agent names a directory that is no origin.";
  return new URL(DIRECTORY_PATH, url);
}

const NONE: SignatureFault = {
  fault: "signature-missing",
  reason: "This operation requires a signed request, and this one has no signature.",
};

/** The proof of a request without a signature. */
export const UNSIGNED: CallerProof = { problem: { code: "credential-invalid", why: "missing", signature: NONE } };

function uncoveredBy(label: string, name: string): SignatureFault {
  return invalidSignature(`The signature "${label}" does not cover "${name}".`);
}

function notTrusted(reason: string): SignatureFault {
  return { fault: "profile-not-trusted", reason };
}

function unreachable(retryAfterMs: number): { readonly problem: ClientProblem } {
  return { problem: { code: "identity-unavailable", retryAfterMs, isProfile: true } };
}

function refuse({ why, signature }: Fault): { readonly problem: ClientProblem } {
  return { problem: { code: "credential-invalid", why, signature } };
}
