// The official SDK, version 1, as its example of Streamable HTTP has it: a session for each client, answers as event streams.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { content, INFO, INPUT, PORT } from "./pay.mjs";

const sessions = new Map();

async function begin() {
  const server = new McpServer(INFO);
  server.registerTool("pay", { inputSchema: INPUT }, content);
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, transport),
  });
  await server.connect(transport);
  return transport;
}

async function serve(request, response) {
  const id = request.headers["mcp-session-id"];
  const session = id === undefined ? await begin() : sessions.get(id);
  if (session === undefined) response.writeHead(404).end();
  else await session.handleRequest(request, response);
}
createServer((request, response) => void serve(request, response)).listen(PORT, "127.0.0.1");
