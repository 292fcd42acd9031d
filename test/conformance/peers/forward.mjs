// What each peer protects: an application that passes a request on to the suite's origin. The same for all of them.

import { createServer } from "node:http";
import { Pool } from "undici";

export const [port, origin, redisPort, retentionSeconds, lockSeconds] = process.argv.slice(2);
export const redisUrl = `redis://127.0.0.1:${redisPort}`;

const pool = new Pool(origin, { connections: 64 });
const OF_THE_HOP = new Set(["connection", "keep-alive", "transfer-encoding", "content-length", "host"]);
const endToEnd = (headers) => Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_THE_HOP.has(name)));

/** @returns {Promise<{ status: number, headers: Record<string, string | string[]>, body: Buffer }>} */
export async function forward({ method, url, headers, body }) {
  const answer = await pool.request({ path: url, method, headers: endToEnd(headers), body });
  const bytes = Buffer.from(await answer.body.arrayBuffer());
  return { status: answer.statusCode, headers: endToEnd(answer.headers), body: bytes };
}

async function bodyOf(request) {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function respond(request, response, answer) {
  try {
    const { method, url, headers } = request;
    if (method === "GET") return response.writeHead(404).end();
    const { status, headers: own, body } = await answer({ method, url, headers, body: await bodyOf(request) });
    return response.writeHead(status, own).end(body);
  } catch (error) {
    return response.writeHead(500).end(String(error));
  }
}

/** Serves `answer`, a function of one whole request. What it throws becomes a 500. */
export function serve(answer) {
  const server = createServer((request, response) => void respond(request, response, answer));
  server.listen(Number(port), "127.0.0.1");
}

export function json(status, value, headers = {}) {
  return {
    status,
    headers: { "content-type": "application/json", ...headers },
    body: Buffer.from(JSON.stringify(value)),
  };
}
