// An origin in a process of its own that has state: sessions, payments, orders and documents, read as ACP, UCP, Stripe, Square and plain REST
// do. It acts on every request, whatever its key, and what it has done shows in its reads only after a time. How it treats a request, the
// request's `x-fate` says: what that is, stands in stand-in.ts.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import type { StandInEffect, StandInOptions } from "./stand-in.ts";
import { listen } from "./origin-server.ts";

const { lagMs, lateMs }: StandInOptions = JSON.parse(process.argv[2] ?? "");

const effects: StandInEffect[] = [];
const reads: { path: string; at: number; authorization: string }[] = [];
const arrivals: { path: string; at: number; attempt: string }[] = [];

type Fields = Readonly<Record<string, unknown>>;

function parsed(body: string): Fields {
  const fields: Fields = JSON.parse(body === "" ? "{}" : body);
  return fields;
}

function fieldsOf(body: string, type: string): Fields {
  if (!type.includes("urlencoded")) return parsed(body);
  const flat = new URLSearchParams(body);
  const metadata = Object.fromEntries(
    [...flat].flatMap(([name, value]) =>
      /^metadata\[(.*)\]$/.exec(name)?.[1] === undefined ? [] : [[name.slice(9, -1), value]],
    ),
  );
  return { customer: flat.get("customer"), amount: Number(flat.get("amount")), metadata };
}

/** What reads show: effects that are old enough. */
function shown(path: RegExp): readonly StandInEffect[] {
  return effects.filter((one) => path.test(one.path) && Date.now() - one.at >= lagMs);
}

function page(
  all: readonly unknown[],
  limit: string | null,
): { readonly data: readonly unknown[]; readonly more: boolean } {
  const size = Number(limit ?? 10);
  return { data: all.slice(0, size), more: all.length > size };
}

/** The answer to a read: status, JSON, headers. */
function read(url: URL): readonly [status: number, json: unknown, headers?: Readonly<Record<string, string>>] {
  const { pathname, searchParams } = url;
  const [, collection = "", id = ""] = pathname.split("/");
  const done = shown(new RegExp(`^/${collection}/${id}(?:/complete)?$`)).length;
  switch (pathname.replace(/^(\/(?:checkout.sessions|documents)\/)[^/]+$/, "$1:id")) {
    case "/checkout_sessions/:id":
      return [
        200,
        {
          id,
          status: done > 0 ? "completed" : "ready_for_payment",
          ...(done > 0 ? { order: { id: `order_${id}` } } : {}),
        },
      ];
    case "/checkout-sessions/:id":
      return [200, { id, status: done > 0 ? "complete_in_progress" : "ready_for_complete" }];
    case "/documents/:id":
      return [200, { id, version: done }, { ETag: `"v${done}"` }];
    case "/v1/payment_intents": {
      const all = shown(/^\/v1\/payment_intents$/).filter(
        ({ fields }) => fields["customer"] === searchParams.get("customer"),
      );
      const { data, more } = page(all.map(intentOf), searchParams.get("limit"));
      return [200, { object: "list", data, has_more: more }];
    }
    case "/v1/payment_intents/search": {
      const [, name = "", value = ""] = /^metadata\['(\w+)'\]:'([^']*)'$/.exec(searchParams.get("query") ?? "") ?? [];
      const all = shown(/^\/v1\/payment_intents$/)
        .map(intentOf)
        .filter(
          ({ metadata }) => typeof metadata === "object" && metadata !== null && Reflect.get(metadata, name) === value,
        );
      const { data, more } = page(all, searchParams.get("limit"));
      return [200, { object: "search_result", data, has_more: more }];
    }
    case "/v2/payments": {
      const { data, more } = page(
        shown(/^\/v2\/payments$/).map(({ id: own, fields }) => Object.assign({ id: own, status: "COMPLETED" }, fields)),
        searchParams.get("limit"),
      );
      return [200, { payments: data, ...(more ? { cursor: "next" } : {}) }];
    }
    case "/orders": {
      const all = shown(/^\/orders$/).filter(({ fields }) => fields["reference"] === searchParams.get("reference"));
      const { data, more } = page(
        all.map(({ id: own, fields }) => Object.assign({ id: own }, fields)),
        null,
      );
      return [200, data, more ? { Link: '</orders?page=2>; rel="next"' } : {}];
    }
    default:
      return [404, { error: "not found" }];
  }
}

interface PaymentIntent {
  readonly id: string;
  readonly amount: unknown;
  readonly metadata: unknown;
}

function intentOf({ id, fields }: StandInEffect): PaymentIntent & { readonly object: "payment_intent" } {
  const { amount, metadata } = fields;
  return { id, object: "payment_intent", amount, metadata };
}

async function act(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request);
  const path = new URL(request.url ?? "/", "http://origin").pathname;
  arrivals.push({ path, at: Date.now(), attempt: String(request.headers["idempotency-attempt"]) });
  const fields = fieldsOf(body, String(request.headers["content-type"]));
  const effect = (): StandInEffect => {
    const one = { id: `e${effects.length + 1}`, path, at: Date.now(), fields };
    effects.push(one);
    return one;
  };
  switch (String(request.headers["x-fate"])) {
    case "lost":
      request.socket.destroy();
      return;
    case "acted":
      effect();
      request.socket.destroy();
      return;
    case "late":
      request.socket.destroy();
      await pause(lateMs);
      effect();
      return;
    default:
      send(response, 201, effect());
  }
}

function send(
  response: ServerResponse,
  status: number,
  json: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(json));
}

const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
  const url = new URL(request.url ?? "/", "http://origin");
  if (request.method !== "GET") {
    act(request, response).catch(() => request.socket.destroy());
    return;
  }
  if (url.pathname === "/journal") return send(response, 200, { effects, reads, arrivals });
  reads.push({ path: request.url ?? "", at: Date.now(), authorization: String(request.headers.authorization) });
  send(response, ...read(url));
});
const { port } = await listen(server, 0);
process.send?.({ url: `http://127.0.0.1:${port}` });
