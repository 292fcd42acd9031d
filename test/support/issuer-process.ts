// An issuer of tokens in a process of its own: it signs JWTs with jose, publishes its keys as a JWKS, and rotates them on command.
// Started by `startIssuer`, it sends its URLs over IPC and exits with its parent. Its control API is JSON over HTTP on a port of its own,
// so that it still answers while the public port is closed.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { calculateJwkThumbprint, CompactSign, exportJWK, generateKeyPair, type JWK } from "jose";
import * as v from "valibot";
import { listen } from "./origin-server.ts";

interface SigningKey {
  readonly alg: string;
  readonly privateKey: Awaited<ReturnType<typeof generateKeyPair>>["privateKey"];
  readonly jwk: JWK;
  /** Whether the JWKS has it. */
  isPublished: boolean;
}

/** How the public port answers. */
type Mood = "well" | "hanging" | "failing" | "huge" | "nonsense";

let keys: SigningKey[] = [];
let mood: Mood = "well";
let fetches = 0;
const hanging: ServerResponse[] = [];

async function addKey(alg: string, isPublished: boolean): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = await exportJWK(publicKey);
  const kid = await calculateJwkThumbprint(jwk);
  const key = { alg, privateKey, jwk: { ...jwk, kid, alg, use: "sig" }, isPublished };
  keys.push(key);
  return key;
}

function jwksAnswer(response: ServerResponse): void {
  fetches += 1;
  const published = { keys: keys.filter(({ isPublished }) => isPublished).map(({ jwk }) => jwk) };
  switch (mood) {
    case "well":
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(published));
      return;
    case "hanging":
      hanging.push(response);
      return;
    case "failing":
      response.writeHead(500).end();
      return;
    case "huge":
      response.writeHead(200).end(JSON.stringify({ ...published, padding: "x".repeat(1 << 20) }));
      return;
    case "nonsense":
      response.writeHead(200).end('{"keys":[{"kty":"RSA"');
  }
}

const tokenRequest = v.object({
  claims: v.record(v.string(), v.unknown()),
  alg: v.string(),
  /** More members of the protected header, or other values. */
  header: v.record(v.string(), v.unknown()),
  /** Signs with a key that is in no JWKS. */
  unpublished: v.boolean(),
});

const moodRequest = v.object({ mood: v.picklist(["well", "hanging", "failing", "huge", "nonsense"]) });

async function sign({ claims, alg, header, unpublished }: v.InferOutput<typeof tokenRequest>): Promise<string> {
  const key =
    keys.findLast((one) => one.alg === alg && one.isPublished !== unpublished) ?? (await addKey(alg, !unpublished));
  const protectedHeader: Record<string, unknown> = { alg, kid: key.jwk.kid, typ: "JWT", ...header };
  const crit = Object.fromEntries(Object.keys(header).map((name) => [name, true]));
  const named = Object.fromEntries(Object.entries(protectedHeader).filter(([, value]) => value !== null));
  return new CompactSign(new TextEncoder().encode(JSON.stringify(claims)))
    .setProtectedHeader({ ...named, alg })
    .sign(key.privateKey, { crit });
}

async function control(request: IncomingMessage): Promise<object | null> {
  const body: unknown = JSON.parse((await text(request)) || "{}");
  switch (request.url ?? "") {
    case "/sign":
      return { token: await sign(v.parse(tokenRequest, body)) };
    case "/rotate":
      keys = [];
      return {};
    case "/mood":
      ({ mood } = v.parse(moodRequest, body));
      for (const response of hanging.splice(0)) response.destroy();
      return {};
    case "/stats":
      return { fetches, keys: keys.map(({ jwk }) => jwk) };
    default:
      return null;
  }
}

const issuer = createServer({ keepAliveTimeout: 0 }, (_, response) => jwksAnswer(response));
const controls = createServer({ keepAliveTimeout: 0 }, (request, response) => {
  control(request).then(
    (answer) => response.writeHead(answer === null ? 404 : 200).end(JSON.stringify(answer)),
    (error: unknown) => response.writeHead(400).end(JSON.stringify({ error: String(error) })),
  );
});
const [{ port }, { port: controlPort }] = await Promise.all([listen(issuer, 0), listen(controls, 0)]);
process.on("disconnect", () => process.exit(0));
process.send?.({ url: `http://127.0.0.1:${port}`, controlUrl: `http://127.0.0.1:${controlPort}` });
