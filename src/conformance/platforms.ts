// Platforms that sign their requests (RFC 9421), as the Universal Commerce Protocol wants it (docs/specification/signatures.md), and as Web Bot Auth does. The suite's
// own origin publishes their keys: two for each, because keys are rotated.

import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import type { HeaderPair } from "./http-response.ts";

export interface RequestSigning {
  /** Who signs: each platform has a profile of its own. */
  readonly as: "one" | "other";
  readonly key: "first" | "second";
  /** `uncovered`: the signature leaves out the key of the request. `other-digest`: that of another body. */
  readonly how: "ucp" | "web-bot-auth" | "uncovered" | "other-digest";
}

export const USUAL_SIGNING: RequestSigning = { as: "one", key: "first", how: "ucp" };

export interface SignableRequest {
  readonly method: string;
  /** Host and port, as the client names them. */
  readonly authority: string;
  readonly target: string;
  readonly headers: readonly HeaderPair[];
  readonly body: Buffer;
}

export interface SigningPlatforms {
  /** What the origin answers at these paths. */
  readonly documents: ReadonlyMap<string, string>;
  /** The request's headers with those of its signature. `origin`: where the documents are. */
  sign(request: SignableRequest, signing: RequestSigning, origin: string): readonly HeaderPair[];
}

interface SigningKey {
  readonly id: string;
  readonly jwk: object;
  readonly privateKey: KeyObject;
}

const LABEL = "sig1";
const LIFE_S = 300;

export function makePlatforms(): SigningPlatforms {
  const keys = new Map(
    (["one", "other"] as const).map((name) => [name, { first: makeKey(), second: makeKey() }] as const),
  );
  const documents = [...keys].map(([name, { first, second }]) => {
    const profile = { ucp: { version: "2026-01-11" }, keys: [first.jwk, second.jwk] };
    return [pathOf(name), JSON.stringify(profile)] as const;
  });
  return {
    documents: new Map(documents),
    sign(request, { as, key, how }, origin) {
      const used = keys.get(as)?.[key];
      if (used === undefined) throw new TypeError(`${as} has no such key`);
      const digested = how === "other-digest" ? Buffer.from("another body") : request.body;
      const isAgent = how === "web-bot-auth";
      const url = `${origin}${pathOf(as)}`;
      const named: HeaderPair = isAgent
        ? ["Signature-Agent", `${LABEL}="${url}";type=jwks_uri`]
        : ["UCP-Agent", `profile="${url}"`];
      const headers: readonly HeaderPair[] = [...request.headers, named, ["Content-Digest", digestOf(digested)]];
      const components = componentsOf({ ...request, headers }, isAgent, how === "uncovered");
      const created = Math.floor(Date.now() / 1000);
      const tag = isAgent ? ';tag="web-bot-auth"' : "";
      const signed = `(${components.map(([name]) => name).join(" ")});created=${created};expires=${created + LIFE_S};keyid="${used.id}"${tag}`;
      const lines = [...components.map(([name, value]) => `${name}: ${value}`), `"@signature-params": ${signed}`];
      const signature = sign(null, Buffer.from(lines.join("\n")), used.privateKey).toString("base64");
      return [...headers, ["Signature-Input", `${LABEL}=${signed}`], ["Signature", `${LABEL}=:${signature}:`]];
    },
  };
}

function pathOf(name: RequestSigning["as"]): string {
  return `/platforms/${name}`;
}

function makeKey(): SigningKey {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const { crv, kty, x } = publicKey.export({ format: "jwk" });
  // RFC 7638: Web Bot Auth names a key by its thumbprint.
  const id = createHash("sha256").update(JSON.stringify({ crv, kty, x })).digest("base64url");
  return { id, jwk: { crv, kty, x, kid: id, alg: "EdDSA", use: "sig" }, privateKey };
}

function digestOf(body: Buffer): string {
  return `sha-256=:${createHash("sha256").update(body).digest("base64")}:`;
}

/** What is signed, each as the signature names it, and its value. */
function componentsOf(
  { method, authority, target, headers }: SignableRequest,
  isAgent: boolean,
  isUncovered: boolean,
): readonly (readonly [name: string, value: string])[] {
  const [path = "", query] = target.split("?", 2);
  const field = (name: string): string | null => headers.find(([one]) => one.toLowerCase() === name)?.[1] ?? null;
  const names = ["content-digest", "content-type", ...(isUncovered ? [] : ["idempotency-key"]), "ucp-agent"];
  const fields = names.flatMap((name) => {
    const value = field(name);
    return value === null ? [] : [[`"${name}"`, value] as const];
  });
  const [, agent = ""] = /^\w+=(.*)$/.exec(field("signature-agent") ?? "") ?? [];
  return [
    ['"@method"', method],
    ['"@authority"', authority],
    ['"@path"', path],
    ...(query === undefined ? [] : [['"@query"', `?${query}`] as const]),
    ...fields,
    ...(isAgent ? [[`"signature-agent";key="${LABEL}"`, agent] as const] : []),
  ];
}
