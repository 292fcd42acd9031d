// An MCP server whose tool pays: each call that reaches it takes effect, as in a shop that knows nothing of keys. It serves both generations of the protocol,
// with the official SDK.

import { once } from "node:events";
import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, fromJsonSchema, McpServer } from "@modelcontextprotocol/server";

export interface McpShopOptions {
  readonly port: number;
  /** The shop has paid, and answers when this resolves. */
  readonly onPaid: () => Promise<void>;
}

export interface McpShop {
  readonly url: string;
  /** How often it has paid. */
  payments(): number;
  close(): Promise<void>;
}

interface Order {
  readonly order: string;
  readonly amount: number;
}

const ORDER = fromJsonSchema<Order>({
  type: "object",
  properties: { order: { type: "string" }, amount: { type: "number" } },
  required: ["order", "amount"],
});

export async function startMcpShop({ port, onPaid }: McpShopOptions): Promise<McpShop> {
  let payments = 0;
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "shop", version: "1.0.0" });
    const tool = { description: "Pays an order.", inputSchema: ORDER };
    server.registerTool("pay", tool, async ({ order, amount }) => {
      payments += 1;
      const text = `paid ${amount} for ${order}, receipt ${payments}`;
      await onPaid();
      return { content: [{ type: "text", text }] };
    });
    return server;
  });
  const handle = toNodeHandler(handler);
  // A request that a server has got has both; Node's type says otherwise.
  const server = createServer((request, response) => {
    void handle(Object.assign(request, { method: request.method ?? "GET", url: request.url ?? "/" }), response);
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    url: `http://127.0.0.1:${address === null || typeof address === "string" ? port : address.port}`,
    payments: () => payments,
    async close() {
      await handler.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
