// A server on loopback that publishes the keys of agents, each at a path of its own, and that misbehaves on command.

import { createServer, type Server, type ServerResponse } from "node:http";
import { listen } from "./origin-server.ts";
import type { AgentKey } from "./http-signer.ts";

export type AgentMood = "well" | "missing" | "redirecting" | "huge" | "hanging";

export interface AgentServer {
  readonly url: string;
  /** What the document at this path has. Returns its URL. */
  publish(path: string, ...keys: readonly AgentKey[]): string;
  mood(path: string, mood: AgentMood): void;
  /** How often a path was asked for. */
  fetches(path: string): number;
  close(): Promise<void>;
}

export async function startAgentServer(): Promise<AgentServer> {
  const documents = new Map<string, readonly AgentKey[]>();
  const moods = new Map<string, AgentMood>();
  const fetches = new Map<string, number>();
  const server: Server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const path = request.url ?? "";
    fetches.set(path, (fetches.get(path) ?? 0) + 1);
    const keys = documents.get(path);
    answer(response, keys === undefined ? "missing" : (moods.get(path) ?? "well"), keys ?? [], path);
  });
  const { port } = await listen(server, 0);
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    publish: (path, ...keys) => {
      documents.set(path, keys);
      return url + path;
    },
    mood: (path, mood) => void moods.set(path, mood),
    fetches: (path) => fetches.get(path) ?? 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function answer(response: ServerResponse, mood: AgentMood, keys: readonly AgentKey[], path: string): void {
  const profile = { ucp: { version: "2026-08-22" }, keys: keys.map(({ jwk }) => jwk) };
  switch (mood) {
    case "well":
      response.writeHead(200, { "content-type": "application/json", "cache-control": "public, max-age=60" });
      response.end(JSON.stringify(profile));
      return;
    case "missing":
      response.writeHead(404).end();
      return;
    case "redirecting":
      response.writeHead(302, { location: `${path}-good` }).end();
      return;
    case "huge":
      response.writeHead(200).end(JSON.stringify({ ...profile, padding: "x".repeat(300 * 1024) }));
      return;
    case "hanging":
  }
}
