// FastMCP over HTTP, as its README has it.

import { FastMCP } from "fastmcp";
import { z } from "zod";
import { INFO, INPUT, pay, PORT } from "./pay.mjs";

const server = new FastMCP(INFO);
server.addTool({
  name: "pay",
  description: "Pays.",
  parameters: z.object(INPUT),
  execute: async (order) => pay(order),
});
await server.start({ transportType: "httpStream", httpStream: { port: PORT, host: "127.0.0.1" } });
