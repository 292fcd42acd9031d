// Operations as real clients send them: each try has a fresh token, and differs in all that must not matter (where the key is, order,
// spelling, boundary, timestamp, page, preference). Beside them rivals, which differ in one thing that must matter. The generators,
// and how each try is written.

import fc from "fast-check";
import { AUDIENCE, type Issuer } from "../issuer.ts";
import type { GatewayVars } from "../gateway.ts";
import type { HeaderPair } from "../http.ts";
import type { Message } from "./scene.ts";

const ROUTE_NAMES = ["json", "form", "multipart", "graphql", "encrypted", "later"] as const;
type RouteName = (typeof ROUTE_NAMES)[number] | "late";

/** What may differ between two tries of one operation. */
export interface Spelling {
  readonly key: "header" | "body" | "both";
  readonly nonce: string;
  readonly isReversed: boolean;
  readonly isEscaped: boolean;
  readonly page: "listed" | "strange" | "none";
  readonly prefers: "nothing" | "respond-async" | "respond-async, wait=1";
}

/** Another caller has another record; another amount is refused, as are two keys, and a token that nobody has signed. */
const RIVALS = ["none", "caller", "amount", "keys", "forged"] as const;

export interface CallersOperation {
  readonly route: RouteName;
  readonly amount: number;
  /** The first ones are sent at once, the last when they have their answers. */
  readonly tries: readonly Spelling[];
  readonly rival: (typeof RIVALS)[number];
}

export const LISTED = "https://shop.example.com";
export const STRANGE = "https://elsewhere.example.com";

/** All routes have these callers and pages. */
export function callersVars(originUrl: string, issuer: Issuer): GatewayVars {
  const KEYS = ["header:X-Request-Id", "query:k"];
  const JSON_KEYS = [...KEYS, "json:/id"];
  const json = { body: "json", except: ["/timestamp", "/id"] };
  return {
    IDEMPOTENCY: {
      origin: originUrl,
      shards: 2,
      scope: ["identity:user"],
      duplicate: "wait",
      cors: { origins: [LISTED], expose_headers: ["Location"] },
    },
    IDENTITIES: { user: { jwt: { issuer: issuer.name, audience: AUDIENCE, jwks: issuer.jwks } } },
    ROUTES: [
      { path: "/json/:operation", key_from: JSON_KEYS, fingerprint: json },
      { path: "/encrypted/:operation", key_from: JSON_KEYS, fingerprint: json, encrypt_responses: true },
      { path: "/later/:operation", key_from: JSON_KEYS, fingerprint: json, async: "prefer" },
      {
        path: "/late/:operation",
        key_from: JSON_KEYS,
        fingerprint: json,
        // No shorter: the first try has to succeed on a machine that stands still for a second.
        timeout: "2s",
        lock: "2100ms",
        wait: "500ms",
        retention: "2700ms",
        remember: "30d",
      },
      {
        path: "/form/:operation",
        key_from: [...KEYS, "form:id"],
        fingerprint: { body: "form", except: ["/csrf", "/id"] },
      },
      { path: "/multipart/:operation", key_from: KEYS, fingerprint: { body: "multipart" } },
      { path: "/graphql/:operation", graphql: true, fingerprint: { body: "json" } },
    ],
  };
}

const spelling: fc.Arbitrary<Spelling> = fc.record({
  key: fc.constantFrom("header", "body", "both"),
  nonce: fc.stringMatching(/^[a-z0-9]{8,12}$/),
  isReversed: fc.boolean(),
  isEscaped: fc.boolean(),
  page: fc.constantFrom("listed", "strange", "none"),
  prefers: fc.constantFrom("respond-async", "respond-async", "respond-async", "nothing", "respond-async, wait=1"),
});

function operationOn(route: fc.Arbitrary<RouteName>): fc.Arbitrary<CallersOperation> {
  return fc.record({
    route,
    amount: fc.integer({ min: 1, max: 9_999 }),
    tries: fc.array(spelling, { minLength: 3, maxLength: 5 }),
    rival: fc.constantFrom(...RIVALS),
  });
}

export const callersOperations: fc.Arbitrary<readonly CallersOperation[]> = fc.array(
  operationOn(fc.constantFrom(...ROUTE_NAMES)),
  { minLength: 1, maxLength: 6, size: "max" },
);

/** Their records expire while the test waits. */
export const lateOperations: fc.Arbitrary<readonly CallersOperation[]> = fc.array(operationOn(fc.constant("late")), {
  minLength: 8,
  maxLength: 24,
  size: "max",
});

export interface Sender {
  /** The last segment of its path, so that the origin can count its effects, wherever its key is. */
  readonly id: string;
  readonly token: string;
  readonly key: string;
  /** Beside its own, in another place. */
  readonly otherKey?: string;
}

export function pathOf(route: RouteName, id: string): string {
  return `/${route}/${id}`;
}

export function messageOf(route: RouteName, amount: number, how: Spelling, sender: Sender): Message {
  const { type, body } = bodyOf(route, amount, how, sender.key);
  const isKeyInBody = hasKeyInBody(route, how);
  const ownKey = isKeyInBody && how.key === "body" ? null : sender.key;
  const { otherKey = null } = sender;
  const page = how.page === "none" ? null : how.page === "listed" ? LISTED : STRANGE;
  const headers: HeaderPair[] = [
    ["Authorization", `Bearer ${sender.token}`],
    ["Content-Type", type],
    ...(route === "graphql" ? optional("Idempotency-Key", otherKey ?? ownKey) : optional("X-Request-Id", ownKey)),
    ...optional("Origin", page),
    ...optional("Prefer", how.prefers === "nothing" ? null : how.prefers),
  ];
  const query = route === "graphql" || otherKey === null ? "" : `?k=${otherKey}`;
  return { path: pathOf(route, sender.id) + query, headers, body };
}

function optional(name: string, value: string | null): readonly HeaderPair[] {
  return value === null ? [] : [[name, value]];
}

/** The key of a GraphQL mutation is always there, because a body without it is another one. A multipart body has none. */
function hasKeyInBody(route: RouteName, { key }: Spelling): boolean {
  return route === "graphql" || (route !== "multipart" && key !== "header");
}

function bodyOf(
  route: RouteName,
  amount: number,
  how: Spelling,
  key: string,
): { readonly type: string; readonly body: string } {
  const own: readonly (readonly [string, string])[] = hasKeyInBody(route, how) ? [["id", key]] : [];
  switch (route) {
    case "form": {
      const pairs = ordered([["amount", String(amount)], ["note", "für Ada"], ["csrf", how.nonce], ...own], how);
      const written = pairs.map((pair) => pair.map((text) => escaped(text, how)).join("="));
      return { type: "application/x-www-form-urlencoded", body: written.join("&") };
    }
    case "multipart": {
      const boundary = `----${how.nonce}`;
      const parts = [`name="amount"\r\n\r\n${amount}`, 'name="file"; filename="a.txt"\r\n\r\n-- a file\r\n--'];
      const written = parts.map((part) => `--${boundary}\r\nContent-Disposition: form-data; ${part}\r\n`);
      return { type: `multipart/form-data; boundary=${boundary}`, body: `${written.join("")}--${boundary}--\r\n` };
    }
    case "graphql": {
      const query = `mutation Pay($key: String!) { pay(amount: ${amount}) @idempotent(key: $key) { id } }`;
      return jsonOf(
        [
          ["query", query],
          ["operationName", "Pay"],
          ["variables", { key }],
        ],
        how,
      );
    }
    case "json":
    case "encrypted":
    case "later":
    case "late":
      return jsonOf([["amount", amount], ["note", "für Ada"], ["timestamp", how.nonce], ...own], how);
  }
}

function jsonOf(
  members: readonly (readonly [string, unknown])[],
  how: Spelling,
): { readonly type: string; readonly body: string } {
  const text = JSON.stringify(Object.fromEntries(ordered(members, how)), null, how.isEscaped ? 2 : 0);
  return { type: "application/json", body: how.isEscaped ? text.replaceAll("a", "\\u0061") : text };
}

function ordered<T>(members: readonly T[], { isReversed }: Spelling): readonly T[] {
  return isReversed ? members.toReversed() : members;
}

function escaped(text: string, { isEscaped }: Spelling): string {
  if (!isEscaped) return encodeURIComponent(text);
  return [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
}
