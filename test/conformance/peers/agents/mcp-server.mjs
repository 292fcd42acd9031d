// The official SDK, version 2: no sessions.

import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { content, INFO, INPUT, PORT } from "./pay.mjs";

const handler = createMcpHandler(() => {
  const server = new McpServer(INFO);
  server.registerTool("pay", { inputSchema: z.object(INPUT) }, content);
  return server;
});
const answer = toNodeHandler(handler);
createServer((request, response) => void answer(request, response)).listen(PORT, "127.0.0.1");
