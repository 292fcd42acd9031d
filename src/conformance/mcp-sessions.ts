// A session of MCP, for servers that answer tool calls within one only (MCP 2025-06-18, Lifecycle and Session Management).

import type { HeaderPair } from "./http-response.ts";
import { headerValue } from "./http-response.ts";
import { askServer } from "./player.ts";
import type { TestTarget } from "./target.ts";

const VERSION = "2025-06-18";

/** The headers of requests in a new session; none where the server has no sessions. */
export async function openSession(target: TestTarget): Promise<readonly HeaderPair[]> {
  const params = { protocolVersion: VERSION, capabilities: {}, clientInfo: { name: "conformance", version: "1" } };
  const reply = await ask(target, { jsonrpc: "2.0", id: 1, method: "initialize", params }, []);
  const id = "lost" in reply || reply.status !== 200 ? null : headerValue(reply, "mcp-session-id");
  if (id === null) return [];
  const session = [
    ["Mcp-Session-Id", id],
    ["Mcp-Protocol-Version", VERSION],
  ] as const;
  await ask(target, { jsonrpc: "2.0", method: "notifications/initialized" }, session);
  return session;
}

function ask(target: TestTarget, message: object, session: readonly HeaderPair[]): ReturnType<typeof askServer> {
  const headers = [["Content-Type", target.contentType] as const, ...session];
  return askServer(target, "POST", target.path, target.timeoutMs, { headers, body: JSON.stringify(message) });
}
