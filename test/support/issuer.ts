// Starts the issuer's process (issuer-process.ts) and calls its control API.

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import * as v from "valibot";

const started = v.object({ url: v.string(), controlUrl: v.string() });
const signed = v.object({ token: v.string() });
const stats = v.object({ fetches: v.number(), keys: v.array(v.record(v.string(), v.unknown())) });

export interface TokenOptions {
  /** Besides those that a good token has; `undefined` removes one. */
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly alg?: string;
  /** Members of the protected header; `null` removes one. */
  readonly header?: Readonly<Record<string, unknown>>;
  readonly unpublished?: boolean;
}

export interface Issuer {
  /** The `iss` of its tokens. */
  readonly name: string;
  readonly jwks: string;
  /** A good token of this caller for the tests' audience, unless the options say otherwise. No two are the same. */
  token(sub: string, options?: TokenOptions): Promise<string>;
  /** Forgets all keys: the next token has a new one, and the JWKS has that alone. */
  rotate(): Promise<void>;
  mood(mood: "well" | "hanging" | "failing" | "huge" | "nonsense"): Promise<void>;
  /** How often the JWKS was fetched. */
  fetches(): Promise<number>;
  publicKeys(): Promise<readonly Readonly<Record<string, unknown>>[]>;
  close(): Promise<void>;
}

export const AUDIENCE = "https://api.example.com";

export async function startIssuer(name: string): Promise<Issuer> {
  const child = fork(fileURLToPath(new URL("issuer-process.ts", import.meta.url)), { stdio: "inherit", execArgv: [] });
  const [message]: unknown[] = await once(child, "message");
  const { url, controlUrl } = v.parse(started, message);
  const call = async (path: string, body: object = {}): Promise<unknown> => {
    const response = await fetch(controlUrl + path, { method: "POST", body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`issuer: ${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
  let tokens = 0;
  return {
    name,
    jwks: `${url}/jwks.json`,
    async token(sub, { claims = {}, alg = "ES256", header = {}, unpublished = false } = {}) {
      const now = Math.floor(Date.now() / 1000);
      tokens += 1;
      const good = { iss: name, aud: AUDIENCE, sub, iat: now, exp: now + 3600, jti: String(tokens) };
      const asked = { claims: { ...good, ...claims }, alg, header, unpublished };
      return v.parse(signed, await call("/sign", asked)).token;
    },
    rotate: async () => void (await call("/rotate")),
    mood: async (mood) => void (await call("/mood", { mood })),
    fetches: async () => v.parse(stats, await call("/stats")).fetches,
    publicKeys: async () => v.parse(stats, await call("/stats")).keys,
    async close() {
      child.disconnect();
      await once(child, "exit");
    },
  };
}
