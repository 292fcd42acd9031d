// The Hono middleware, as its README has it: one transport for all clients.

import { StreamableHTTPTransport } from "@hono/mcp";
import { serve } from "@hono/node-server";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { Hono } from "hono";
import { content, INFO, INPUT, PORT } from "./pay.mjs";

const server = new McpServer(INFO);
server.registerTool("pay", { inputSchema: INPUT }, content);
const transport = new StreamableHTTPTransport();

const app = new Hono();
app.all("/mcp", async (context) => {
  if (!server.isConnected()) await server.connect(transport);
  return transport.handleRequest(context);
});
serve({ fetch: app.fetch, port: PORT, hostname: "127.0.0.1" });
