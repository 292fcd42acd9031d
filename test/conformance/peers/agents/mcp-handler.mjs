// Vercel's handler, as its README has it.

import { serve } from "@hono/node-server";
import { createMcpHandler } from "mcp-handler";
import { z } from "zod";
import { content, INPUT, PORT } from "./pay.mjs";

const fetch = createMcpHandler((server) => {
  server.registerTool("pay", { inputSchema: z.object(INPUT) }, content);
});
serve({ fetch, port: PORT, hostname: "127.0.0.1" });
