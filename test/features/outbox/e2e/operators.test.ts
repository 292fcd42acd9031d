// Operators of a real gateway whose events are not taken: the API and the command line list them, send them again and drop them. The
// receiver verifies what comes with the package of Standard Webhooks.

import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { outboxPageSchema } from "../../../../src/features/outbox/operator/outbox-schema.ts";
import { type CommandOutcome } from "../../../support/command-line.ts";
import { callOnceway } from "../../../support/command-line-here.ts";
import { freshKey } from "../../../support/http.ts";
import {
  ADMIN_TOKEN,
  type OperatorScene,
  READ_TOKEN,
  startOperatorScene,
} from "../../../support/e2e/operator-scene.ts";
import { eventually } from "../../../support/eventually.ts";

const SECRET = `whsec_${randomBytes(32).toString("base64")}`;
const received: string[] = [];
let status = 500;
let receiver: Server;
let scene: OperatorScene;

beforeAll(async () => {
  receiver = createServer((request, response) => void receive(request, response));
  await new Promise<void>((resolve) => {
    receiver.listen(0, "127.0.0.1", resolve);
  });
  const url = `http://127.0.0.1:${portOf(receiver)}/hook`;
  scene = await startOperatorScene(
    { shards: 1 },
    [
      { path: "/pay", publish: [{ to: "billing", type: "paid" }] },
      { path: "/tell", publish: [{ to: "idle", type: "told" }] },
    ],
    { ADMIN_TOKEN, READ_TOKEN },
    {
      DESTINATIONS: [
        { name: "billing", url, secret: "HOOK", give_up: { after: "1h" } },
        { name: "idle", url, secret: "HOOK" },
      ],
      HOOK: SECRET,
    },
  );
});
afterAll(async () => {
  await scene.close();
  receiver.closeAllConnections();
  receiver.close();
});

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request);
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
  new Webhook(SECRET).verify(body, headers);
  received.push(String(headers["webhook-id"]));
  response.writeHead(status).end();
}

function portOf(server: Server): number {
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

function onceway(...args: readonly string[]): Promise<CommandOutcome> {
  return callOnceway(args, { ONCEWAY_URL: scene.gateway.url, ONCEWAY_TOKEN: ADMIN_TOKEN });
}

async function list(query = "", token = READ_TOKEN): Promise<v.InferOutput<typeof outboxPageSchema>> {
  const { status: code, json } = await scene.ask("GET", `/outbox${query}`, { token });
  expect(code).toBe(200);
  return v.parse(outboxPageSchema, json);
}

async function pay(): Promise<void> {
  expect((await scene.send({ path: "/pay", key: freshKey() })).status).toBe(201);
}

// One story: each step goes on where the one before it ended.
describe("the events of a gateway", { shuffle: false }, () => {
  it("an event that is not taken is listed, for readers too, and sent again at once", async () => {
    status = 500;
    for (let number = 0; number < 4; number += 1) await pay();
    await eventually(async () => {
      const { destinations } = await list();
      expect(destinations).toMatchObject([
        { destination: "billing", pending: 4, dead: 0, resting: [{ lanes: 1, of: 17, reason: "status 500" }] },
        { destination: "idle", pending: 0, dead: 0, oldestPendingAt: null, resting: [] },
      ]);
    });
    const first = await list("?limit=3");
    const rest = await list(`?limit=3&cursor=${first.cursor ?? ""}`);
    const events = [...first.events, ...rest.events];
    expect(new Set(events.map(({ id }) => id)).size).toBe(4);
    expect(rest.cursor).toBeNull();
    expect(JSON.stringify(events)).not.toContain("specversion");
    expect((await list("?state=dead")).events).toEqual([]);

    const metrics = (await scene.ask("GET", "/metrics")).text;
    expect(metrics).toContain('onceway_outbox{destination="billing",state="pending"} 4');
    expect(metrics).toContain('onceway_outbox{destination="idle",state="dead"} 0');
    expect(metrics).toContain('onceway_events_total{destination="idle",result="relayed"} 0');
    expect(metrics).toMatch(/onceway_events_total\{destination="billing",result="failed"\} [1-9]/);
    expect(metrics).toMatch(/onceway_outbox_oldest_seconds\{destination="billing"\} \d/);
    expect(metrics).toMatch(/onceway_outbox_resting_lanes\{destination="billing"\} [01]/);
    expect(metrics).toContain('onceway_outbox_resting_lanes{destination="idle"} 0');
    expect(metrics).not.toContain('route="outbox:');

    status = 204;
    const change = { destination: "billing", reason: "it works again" };
    const preview = await scene.ask("POST", "/outbox/resend", { body: { ...change, preview: true } });
    expect(preview.json).toMatchObject({ events: 4, more: false, unreachable: [] });
    expect((await scene.ask("POST", "/outbox/resend", { body: { ...change, confirm: true } })).status).toBe(200);
    await eventually(async () => expect((await list()).events).toEqual([]));
    expect(new Set(received)).toEqual(new Set(events.map(({ id }) => id)));
    expect(scene.gateway.output()).toContain("events sent again");
  });

  it("the record of a route that publishes is shown as the document says", async () => {
    const key = freshKey();
    // Until it has a result, its policy says what it will publish.
    await scene.send({ path: "/tell", key, behave: { drop: "after-effect" } });
    const { json } = await scene.ask("GET", `/records?key=${key}`);
    const [record] = v.parse(v.object({ records: v.tuple([v.object({ id: v.string() })]) }), json).records;
    const shown = await scene.ask("GET", `/records/${record.id}`);
    expect(shown.json).toMatchObject({ key, policy: { unknown: "hold" } });
  });

  it("the command line lists, resends and drops", async () => {
    status = 500;
    received.length = 0;
    for (let number = 0; number < 3; number += 1) await pay();
    await eventually(async () =>
      expect((await list()).destinations).toMatchObject([{ pending: 3, resting: [{}] }, {}]),
    );
    const shown = await onceway("events", "list");
    expect(shown).toMatchObject({ code: 0, stderr: "" });
    expect(shown.stdout).toMatch(/billing \(http.*\) +3 +0 .*1 of 17 lanes in \d+s: status 500/);
    const { events } = await list();
    const [one] = events;
    for (const { id } of events) expect(shown.stdout).toContain(id);
    const asked = await onceway("events", "drop", "billing", "--reason", "test");
    expect(asked).toMatchObject({ code: 2 });
    const dropped = await onceway("events", "drop", "billing", "--id", one?.id ?? "", "--reason", "test");
    expect(dropped).toMatchObject({ code: 0, stdout: "dropped: 1 event\n" });
    const gone = await onceway("events", "drop", "billing", "--id", one?.id ?? "", "--reason", "test");
    expect(gone).toMatchObject({ code: 1 });
    const preview = await onceway("events", "resend", "billing", "--dry-run", "--reason", "test");
    expect(preview.stdout).toBe("2 events would be sent again\n");
    status = 204;
    expect(await onceway("events", "resend", "billing", "--yes", "--reason", "test")).toMatchObject({ code: 0 });
    await eventually(async () => expect((await list()).events).toEqual([]));
    expect((await onceway("events", "list")).stdout).toContain("no events");
  });

  it("only administrators change events, and a request that says too little is refused with what to write", async () => {
    const body = { destination: "billing", reason: "test", confirm: true };
    for (const action of ["resend", "drop"]) {
      expect((await scene.ask("POST", `/outbox/${action}`, { body, token: READ_TOKEN })).status).toBe(403);
    }
    const refused = async (asked: unknown): Promise<string> => {
      const { status: code, text: said } = await scene.ask("POST", "/outbox/drop", { body: asked });
      expect(code).toBe(400);
      return said;
    };
    expect(await refused({ ...body, confirm: false })).toContain("preview: true");
    expect(await refused({ ...body, reason: " " })).toContain("reason");
    expect(await refused({ ...body, destination: "no such" })).toContain("destination");
    const event = { shard: "shard-0-of-1", place: "1", id: "x".repeat(2001) };
    expect(await refused({ destination: "billing", reason: "test", event })).toContain("event must name an event");
    expect((await scene.ask("GET", "/outbox?state=lost")).status).toBe(400);
    expect((await scene.ask("GET", "/outbox?cursor=shard-9-of-9~")).status).toBe(400);
  });
});
