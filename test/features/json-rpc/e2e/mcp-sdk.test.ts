// The official SDKs of MCP as they are, both generations, as clients and as servers: an agent whose line breaks, or who has another session, calls again and
// pays once.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type CutLine, startCutLine } from "../../../../src/demo/cut-line.ts";
import type { Gateway } from "../../../support/gateway.ts";
import { freshKey } from "../../../support/http.ts";
import { type Agent, AGENTS, type McpServerUnderTest, SERVERS } from "../../../support/e2e/mcp-parties.ts";
import { removeGateway, startGateway, until } from "../../../support/e2e/scene.ts";

const pairs = Object.entries(SERVERS).map(([server, { hasSessions, start }]) => ({ server, hasSessions, start }));

describe.each(pairs)("behind the gateway a server of $server", ({ hasSessions, start }) => {
  let server: McpServerUnderTest;
  let gateway: Gateway;
  let line: CutLine;
  /** Called when the shop has paid and before it answers. */
  let whenPaid: () => Promise<void>;
  beforeAll(async () => {
    server = await start(() => whenPaid());
    const route = { path: "/mcp", jsonrpc: { tools: ["pay"] }, duplicate: "wait", wait: "10s", refused: ["4xx", 503] };
    gateway = await startGateway(server.url, { shards: 2 }, [route]);
    line = await startCutLine(gateway.url);
  });
  afterAll(async () => {
    await line.close();
    await removeGateway(gateway);
    await server.close();
  });
  beforeEach(() => {
    whenPaid = () => Promise.resolve();
  });

  describe.each(Object.entries(AGENTS))("and a client of %s", (_client, connect) => {
    async function withAgent(use: (agent: Agent) => Promise<void>): Promise<void> {
      const agent = await connect(line.url);
      try {
        await use(agent);
      } finally {
        await agent.close();
      }
    }

    it("list tools without a key, and pay once for a key, however often it is called", async () => {
      const before = server.payments();
      await withAgent(async (agent) => {
        expect(await agent.tools()).toEqual(["pay"]);
        const key = freshKey();
        const receipts = [await agent.pay(key, "a"), await agent.pay(key, "a"), await agent.pay(key, "a")];
        expect(receipts).toEqual(Array.from(receipts, () => `paid 25 for a, receipt ${before + 1}`));
        expect(await agent.pay(freshKey(), "a")).toBe(`paid 25 for a, receipt ${before + 2}`);
      });
      expect(server.payments()).toBe(before + 2);
    });

    it("pay once when the line breaks in mid-payment", async () => {
      const before = server.payments();
      await withAgent(async (agent) => {
        const answers = Promise.withResolvers<void>();
        whenPaid = () => {
          line.cut();
          return answers.promise;
        };
        const key = freshKey();
        await expect(agent.pay(key, "b")).rejects.toThrow();
        // A client notices at its next call that what it had connected is gone.
        const again = until(() => agent.pay(key, "b").catch(() => null), "the agent reaches the gateway again");
        answers.resolve();
        expect(await again).toBe(`paid 25 for b, receipt ${before + 1}`);
      });
      expect(server.payments()).toBe(before + 1);
    });

    it("get one payment for calls at once, each its own response", async () => {
      const before = server.payments();
      await withAgent(async (agent) => {
        const key = freshKey();
        const receipts = await Promise.all(Array.from({ length: 5 }, () => agent.pay(key, "c")));
        expect(receipts).toEqual(Array.from(receipts, () => `paid 25 for c, receipt ${before + 1}`));
      });
      expect(server.payments()).toBe(before + 1);
    });

    it("refuse another amount under the key, at once", async () => {
      const before = server.payments();
      await withAgent(async (agent) => {
        const key = freshKey();
        await agent.pay(key, "d", 25);
        await expect(agent.pay(key, "d", 26)).rejects.toThrow(/key-reused|different/i);
      });
      expect(server.payments()).toBe(before + 1);
    });

    if (!hasSessions) return;

    it("give the first answer in another session, which stays the client's own", async () => {
      const before = server.payments();
      const key = freshKey();
      await withAgent(async (agent) => {
        await agent.pay(key, "e");
      });
      await withAgent(async (agent) => {
        const own = agent.session();
        expect(own).toBeTypeOf("string");
        expect(await agent.pay(key, "e")).toBe(`paid 25 for e, receipt ${before + 1}`);
        expect(agent.session()).toBe(own);
      });
      expect(server.payments()).toBe(before + 1);
    });

    it("pay in the next session what a dead one refused", async () => {
      const before = server.payments();
      const key = freshKey();
      await withAgent(async (agent) => {
        server.forget();
        await expect(agent.pay(key, "f")).rejects.toThrow();
      });
      expect(server.payments()).toBe(before);
      await withAgent(async (agent) => {
        expect(await agent.pay(key, "f")).toBe(`paid 25 for f, receipt ${before + 1}`);
      });
    });
  });
});
