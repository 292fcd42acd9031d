// The shapes of the commerce protocols and of JSON-RPC, as data. Texts in quotation marks are those of the protocols, and they count.
//
//   acp   Agentic Commerce Protocol, rfcs/rfc.agentic_checkout.md, sections 6.1 and 6.4, and the schema `Error` of its OpenAPI document
//   ucp   Universal Commerce Protocol, docs/specification/signatures.md (error responses, Replay Protection), identity-linking.md (error handling)
//   adcp  Ad Context Protocol, docs/building/operating/transport-errors.mdx (MCP binding)

import {
  type ProblemShape,
  SHAPED_CODES,
  type ShapedCode,
  type ShapeNode,
  type ShapeWords,
} from "../../kernel/config/problem-shape.ts";
import { JSON_TEXT, parseShapeBody, pointersIn } from "./parse-shape.ts";

/** By codes, and by codes for a variant: `CODE.retryable`, `CODE.missing`, and what a problem's `fault` says. */
type Words = Readonly<Partial<Record<ShapedCode | `${ShapedCode}.${string}`, ShapeWords>>>;

interface ShapeSource {
  readonly contentType?: string;
  readonly body: unknown;
  readonly bodies?: Readonly<Record<string, unknown>>;
  readonly isRpc?: boolean;
  /** Of each code. */
  readonly default: (code: ShapedCode) => ShapeWords;
  readonly words: Words;
}

/** The names of the built-in shapes, beside `rfc9457`, which is no shape. */
export const BUILT_IN_SHAPES = ["acp", "acp-mcp", "ucp", "ucp-mcp", "adcp", "jsonrpc"] as const;
export type BuiltInShape = (typeof BUILT_IN_SHAPES)[number];

/** `null`: there is none of this name. */
export function builtInShape(name: string): ProblemShape | null {
  const known = BUILT_IN_SHAPES.find((one) => one === name);
  if (known === undefined) return null;
  const source = SOURCES[known];
  const { node, names } = parseShapeBody(source.body);
  const isRpc = source.isRpc ?? false;
  const ofCodes = SHAPED_CODES.map((code) => [code, { ...source.default(code), ...source.words[code] }] as const);
  return {
    name,
    contentType: source.contentType ?? "application/json",
    body: node,
    ...(source.bodies === undefined ? null : { bodies: mapped(source.bodies) }),
    words: { ...source.words, ...Object.fromEntries(ofCodes) },
    isRpc,
    pointers: pointersIn(names),
  };
}

function mapped(bodies: Readonly<Record<string, unknown>>): Readonly<Record<string, ShapeNode>> {
  return Object.fromEntries(Object.entries(bodies).map(([code, body]) => [code, parseShapeBody(body).node]));
}

/** In the spelling of the protocols: `key_expired`. */
function snakeCase(code: ShapedCode): string {
  return code.replaceAll("-", "_");
}

/** Flat, with `type`, `code`, `message` and nothing else. */
const ACP_ERROR = { type: "{type}", code: "{code}", message: "{detail}" };

const CONFLICT = { code: "idempotency_conflict" };
const IN_FLIGHT = { code: "idempotency_in_flight" };
const KEY_REQUIRED = { code: "idempotency_key_required" };
const KEY_INVALID = { code: "idempotency_key_invalid" };

const ACP: Pick<ShapeSource, "default" | "words"> = {
  default: (code) => ({ type: acpType(code), code: snakeCase(code) }),
  words: {
    "key-missing": { ...KEY_REQUIRED, detail: "Idempotency-Key header is required on all POST requests" },
    "key-invalid": KEY_INVALID,
    "key-reused": {
      ...CONFLICT,
      status: 422,
      detail: "Idempotency-Key has already been used with a different request body",
    },
    "in-flight": { ...IN_FLIGHT, detail: "A request with this Idempotency-Key is currently being processed" },
  },
};

function acpType(code: ShapedCode): string {
  switch (code) {
    case "key-missing":
    case "key-invalid":
    case "request-invalid":
    case "key-reused":
    case "in-flight":
    case "repeated-content":
    case "body-too-large":
    case "credential-invalid":
      return "invalid_request";
    case "outcome-unknown":
    case "response-not-kept":
    case "key-expired":
    case "key-abandoned":
    case "origin-dropped":
    case "origin-timeout":
      return "processing_error";
    case "too-many-keys":
    case "origin-unreachable":
    case "store-unavailable":
    case "identity-unavailable":
      return "service_unavailable";
  }
}

const UCP_ERROR = { code: "{code}", content: "{detail}" };

/** Where a buyer's account is to be linked, platforms look for the code in a message (identity linking, error handling). */
const UCP_LINKING = { messages: [{ type: "error", ...UCP_ERROR, severity: "requires_buyer_review" }] };

function ucpResponse(data: object): object {
  return rpcResponse({ error: { code: "{number}", message: "{title}", data } });
}

/** `number`: over MCP, the second signal beside the status (overview, error codes). */
const UCP: Pick<ShapeSource, "default" | "words"> = {
  default: (code) => ({ code: snakeCase(code), number: -32000 }),
  words: {
    "key-missing": KEY_REQUIRED,
    "key-invalid": KEY_INVALID,
    "key-reused": { ...CONFLICT, status: 409 },
    "in-flight": IN_FLIGHT,
    "credential-invalid": { code: "identity_required" },
    "credential-invalid.signature-missing": { code: "signature_missing" },
    "credential-invalid.signature-invalid": { code: "signature_invalid" },
    "credential-invalid.key-not-found": { code: "key_not_found" },
    "credential-invalid.digest-invalid": { code: "digest_mismatch", status: 400, number: -32600 },
    "credential-invalid.algorithm-unsupported": { code: "algorithm_unsupported", status: 400, number: -32600 },
    "credential-invalid.profile-not-trusted": { code: "profile_not_trusted", status: 403 },
    "identity-unavailable.profile-unreachable": { code: "profile_unreachable", status: 424, number: -32001 },
  },
};

const ADCP_ERROR = {
  adcp_error: { code: "{code}", message: "{detail}", recovery: "{recovery}", retry_after: "{retryAfter?}" },
  context: "{json:/params/arguments/context?}",
};

const TRANSIENT = { code: "SERVICE_UNAVAILABLE", recovery: "transient" };
const CONFIGURATION = { code: "CONFIGURATION_ERROR", recovery: "terminal" };
const INVALID = { code: "INVALID_REQUEST", recovery: "correctable" };
const NO_CREDENTIAL = { code: "AUTH_MISSING", recovery: "correctable" };
const EXPIRED = { code: "IDEMPOTENCY_EXPIRED", recovery: "correctable" };

const ADCP: Words = {
  "key-missing": INVALID,
  "key-invalid": INVALID,
  "request-invalid": INVALID,
  "body-too-large": INVALID,
  "key-reused": { code: "IDEMPOTENCY_CONFLICT", recovery: "correctable" },
  "repeated-content": { code: "IDEMPOTENCY_CONFLICT", recovery: "correctable" },
  "in-flight": { code: "IDEMPOTENCY_IN_FLIGHT", recovery: "transient" },
  "outcome-unknown": CONFIGURATION,
  "outcome-unknown.retryable": TRANSIENT,
  "response-not-kept": CONFIGURATION,
  "key-expired": EXPIRED,
  "key-abandoned": EXPIRED,
  "too-many-keys": { code: "RATE_LIMITED", recovery: "transient" },
  "credential-invalid": { code: "AUTH_INVALID", recovery: "terminal" },
  "credential-invalid.missing": NO_CREDENTIAL,
  "credential-invalid.signature-missing": NO_CREDENTIAL,
};

/** Numbers of our own lie outside of -32768 to -32000, which JSON-RPC and MCP have for themselves. */
const RPC: Words = {
  "key-missing": { number: -32602 },
  "key-invalid": { number: -32602 },
  "request-invalid": { number: -32600 },
  "request-invalid.not-json": { number: -32700 },
  "key-reused": { number: 409 },
  "repeated-content": { number: 409 },
  "in-flight": { number: 40901 },
  "outcome-unknown": { number: 40902 },
  "response-not-kept": { number: 40903 },
  "key-expired": { number: 410 },
  "key-abandoned": { number: 410 },
  "too-many-keys": { number: 429 },
  "body-too-large": { number: 413 },
  "credential-invalid": { number: 401 },
  "origin-unreachable": { number: 502 },
  "origin-dropped": { number: 502 },
  "origin-timeout": { number: 504 },
  "store-unavailable": { number: 503 },
  "identity-unavailable": { number: 503 },
};

/** A JSON-RPC response under the id of the request. */
function rpcResponse(outcome: { readonly error: unknown } | { readonly result: unknown }): object {
  return { jsonrpc: "2.0", id: "{json:/id}", ...outcome };
}

const SOURCES: Readonly<Record<BuiltInShape, ShapeSource>> = {
  acp: { ...ACP, body: ACP_ERROR },
  "acp-mcp": {
    ...ACP,
    body: rpcResponse({ error: { code: -32000, message: "{detail}", data: ACP_ERROR } }),
    isRpc: true,
  },
  ucp: { ...UCP, body: UCP_ERROR, bodies: { identity_required: { ...UCP_ERROR, ...UCP_LINKING } } },
  "ucp-mcp": {
    ...UCP,
    body: ucpResponse({ ...UCP_ERROR, retry_after: "{retryAfter?}" }),
    bodies: { identity_required: ucpResponse({ ...UCP_ERROR, ...UCP_LINKING }) },
  },
  adcp: {
    default: () => TRANSIENT,
    words: ADCP,
    body: rpcResponse({
      result: {
        content: [{ type: "text", text: { [JSON_TEXT]: ADCP_ERROR } }],
        isError: true,
        structuredContent: ADCP_ERROR,
      },
    }),
    isRpc: true,
  },
  jsonrpc: {
    default: () => ({}),
    words: RPC,
    body: rpcResponse({ error: { code: "{number}", message: "{title}", data: "{problem}" } }),
    isRpc: true,
  },
};
