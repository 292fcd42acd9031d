// Servers and clients of MCP as its two official SDKs make them. The servers' tool pays: each call that reaches it takes effect.

import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from "@modelcontextprotocol/client";
import { Client as EarlierClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as EarlierTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Server as EarlierServer } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import * as v from "valibot";
import { startMcpShop } from "../../../src/demo/mcp-shop.ts";
import { listen } from "../origin-server.ts";

export interface McpServerUnderTest {
  readonly url: string;
  payments(): number;
  /** Forgets all sessions, as a restart does. */
  forget(): void;
  close(): Promise<void>;
}

type StartServer = (onPaid: () => Promise<void>) => Promise<McpServerUnderTest>;

/** By name. Version 2 has no sessions. */
export const SERVERS: Readonly<Record<string, { readonly hasSessions: boolean; readonly start: StartServer }>> = {
  "version 2": {
    hasSessions: false,
    start: async (onPaid) => ({ ...(await startMcpShop({ port: 0, onPaid })), forget: () => undefined }),
  },
  "version 1, event streams": { hasSessions: true, start: (onPaid) => startEarlierShop(false, onPaid) },
  "version 1, JSON": { hasSessions: true, start: (onPaid) => startEarlierShop(true, onPaid) },
};

const order = v.object({ order: v.string(), amount: v.number() });

async function startEarlierShop(enableJsonResponse: boolean, onPaid: () => Promise<void>): Promise<McpServerUnderTest> {
  let payments = 0;
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const makeSession = async (): Promise<StreamableHTTPServerTransport> => {
    const shop = new EarlierServer({ name: "shop", version: "1.0.0" }, { capabilities: { tools: {} } });
    shop.setRequestHandler(ListToolsRequestSchema, () => ({
      tools: [{ name: "pay", inputSchema: { type: "object" } }],
    }));
    shop.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
      payments += 1;
      const { amount, order: of } = v.parse(order, params.arguments);
      const text = `paid ${amount} for ${of}, receipt ${payments}`;
      await onPaid();
      return { content: [{ type: "text", text }] };
    });
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    await shop.connect(transport);
    return transport;
  };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const id = request.headers["mcp-session-id"];
    const session = typeof id === "string" ? sessions.get(id) : await makeSession();
    if (session === undefined) {
      const error = { code: -32_001, message: "Session not found" };
      response.writeHead(404, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", error, id: null }));
      return;
    }
    await session.handleRequest(request, response);
  };
  const server = createServer((request, response) => void serve(request, response));
  const { port } = await listen(server, 0);
  return {
    url: `http://127.0.0.1:${port}`,
    payments: () => payments,
    forget: () => sessions.clear(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export interface Agent {
  tools(): Promise<readonly string[]>;
  /** Resolves to the receipt, rejects as the SDK does. */
  pay(key: string, order: string, amount?: number): Promise<string>;
  session(): string | undefined;
  close(): Promise<void>;
}

/** So that a client that gets no answer of its own says so within the test's time. */
const PATIENCE_MS = 8_000;
const INFO = { name: "agent", version: "1.0.0" };
const HEADERS = { requestInit: { headers: { authorization: "Bearer agent-7" } } };
const receipt = v.object({ content: v.tuple([v.object({ type: v.literal("text"), text: v.string() })]) });

function textOf(result: unknown): string {
  return v.parse(receipt, result).content[0].text;
}

function paying(key: string, of: string, amount: number) {
  return { name: "pay", arguments: { order: of, amount }, _meta: { idempotencyKey: key } };
}

/** By name; each connects to the server at a URL. */
export const AGENTS: Readonly<Record<string, (url: string) => Promise<Agent>>> = {
  "version 2": async (url) => {
    const client = new ModernClient(INFO);
    const transport = new ModernTransport(new URL("/mcp", url), HEADERS);
    await client.connect(transport);
    return {
      tools: async () => (await client.listTools()).tools.map(({ name }) => name),
      pay: async (key, of, amount = 25) =>
        textOf(await client.callTool(paying(key, of, amount), { timeout: PATIENCE_MS })),
      session: () => transport.sessionId,
      close: () => client.close(),
    };
  },
  "version 1": async (url) => {
    const client = new EarlierClient(INFO);
    const transport = new EarlierTransport(new URL("/mcp", url), HEADERS);
    await client.connect(transport);
    return {
      tools: async () => (await client.listTools()).tools.map(({ name }) => name),
      pay: async (key, of, amount = 25) =>
        textOf(await client.callTool(paying(key, of, amount), undefined, { timeout: PATIENCE_MS })),
      session: () => transport.sessionId,
      close: () => client.close(),
    };
  },
};
