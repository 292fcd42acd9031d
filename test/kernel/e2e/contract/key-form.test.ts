// `forward_key` and `key_from` change while keys wait for their second attempt. The origin here knows keys, as payment APIs do: it acts once for
// each key that it gets, and loses the answer to its first call. Whatever the settings have become, it gets the key of the first attempt
// again, and acts once.

import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Gateway, type GatewayVars, makeStateDir, startWorkerd } from "../../../support/gateway.ts";
import { freshKey } from "../../../support/http.ts";
import { type Client, clientOf, removeGateway, until } from "../../../support/e2e/scene.ts";

/** What the origin knows of a path: the keys for which it has acted, its calls and the questions to it. */
interface Seen {
  readonly acted: Set<string>;
  readonly calls: string[];
  readonly verifications: string[];
}

const KEY_HEADERS = ["idempotency-key", "x-request-key"] as const;

class KeyedOrigin {
  readonly server: Server;
  readonly #seen = new Map<string, Seen>();

  constructor() {
    this.server = createServer((request, response) => {
      const [, place = "", asked] = (request.url ?? "").split("/");
      const seen = this.of(place);
      request.resume();
      request.on("end", () => {
        if (request.method === "GET") {
          seen.verifications.push(decodeURIComponent(asked ?? ""));
          response.writeHead(seen.acted.has(decodeURIComponent(asked ?? "")) ? 200 : 404).end();
          return;
        }
        const key = keyIn(request.headers);
        seen.calls.push(key);
        // For `verify`, the first call breaks off before it acts, and the second one after it.
        const breaksAt = place.startsWith("verify") ? 2 : 1;
        if (seen.calls.length >= breaksAt) seen.acted.add(key.replace(/^[^ ]* /, "").replaceAll('"', ""));
        if (seen.calls.length <= breaksAt) request.socket.destroy();
        else response.writeHead(201).end("done");
      });
    });
  }

  of(place: string): Seen {
    const known = this.#seen.get(place) ?? { acted: new Set(), calls: [], verifications: [] };
    this.#seen.set(place, known);
    return known;
  }

  get url(): string {
    const { port }: Pick<AddressInfo, "port"> = Object.assign({ port: 0 }, this.server.address());
    return `http://127.0.0.1:${port}`;
  }
}

function keyIn(headers: IncomingHttpHeaders): string {
  return KEY_HEADERS.flatMap((name) =>
    headers[name] === undefined ? [] : [`${name}: ${String(headers[name])}`],
  ).join();
}

type Settings = Readonly<Record<string, string | boolean | readonly string[]>>;

const TWO = ["header:Idempotency-Key", "header:X-Request-Key"];

/** A route's settings at the first attempt and at the second; what the client sends at each; what the origin gets both times. */
const CHANGES: Readonly<
  Record<string, readonly [before: Settings, after: Settings, sent: string, again: string, got: string]>
> = {
  "step-added": [{}, { forward_key: "charge" }, "KEY", "KEY", "idempotency-key: KEY"],
  "step-removed": [{ forward_key: "charge" }, {}, "KEY", "KEY", "idempotency-key: KEY:charge"],
  "step-renamed": [{ forward_key: "charge" }, { forward_key: "refund" }, "KEY", '"KEY"', "idempotency-key: KEY:charge"],
  quoted: [{ forward_key: "charge" }, {}, '"KEY"', "KEY", 'idempotency-key: "KEY:charge"'],
  "switched-off": [{}, { forward_key: "none" }, "KEY", "KEY", "idempotency-key: KEY"],
  "switched-on": [{ forward_key: "none" }, {}, "KEY", "KEY", ""],
  "other-header": [{ key_from: TWO }, { key_from: TWO.slice(0, 1) }, "x:KEY", "KEY", "x-request-key: KEY"],
  "encrypted-step": [
    { encrypt_responses: true },
    { encrypt_responses: true, forward_key: "charge" },
    "KEY",
    "KEY",
    "idempotency-key: KEY",
  ],
  "verify-step": [
    { unknown: "verify", verify: "/verify-step/{key}", forward_key: "charge" },
    { unknown: "verify", verify: "/verify-step/{key}", forward_key: "refund" },
    "KEY",
    "KEY",
    "idempotency-key: KEY:charge",
  ],
};

const origin = new KeyedOrigin();
let gateway: Gateway;

function varsOf(at: 0 | 1): GatewayVars {
  return {
    IDEMPOTENCY: { origin: origin.url, shards: 1, log: "none", unknown: "retry", timeout: "2s", lock: "2500ms" },
    ROUTES: Object.entries(CHANGES).map(([name, change]) => Object.assign({ path: `/${name}` }, change[at])),
  };
}

function send(name: string, key: string, text: string): ReturnType<Client["send"]> {
  const value = text.replace(/^x:/, "").replace("KEY", key);
  return clientOf(gateway.url).send({
    path: `/${name}`,
    headers: [[text.startsWith("x:") ? "X-Request-Key" : "Idempotency-Key", value]],
  });
}

const keys = new Map(Object.keys(CHANGES).map((name) => [name, freshKey()]));

beforeAll(async () => {
  origin.server.listen(0, "127.0.0.1");
  await once(origin.server, "listening");
  const bindings = { ENCRYPTION_SECRET: "0123456789abcdef".repeat(4) };
  gateway = await startWorkerd({ stateDir: await makeStateDir(), vars: varsOf(0), bindings });
  await Promise.all([...keys].map(([name, key]) => send(name, key, CHANGES[name]?.[2] ?? "KEY")));
  await gateway.stop();
  gateway = await gateway.restart({ vars: varsOf(1) });
});
afterAll(async () => {
  await removeGateway(gateway);
  origin.server.close();
});

it.each(Object.entries(CHANGES))(
  "%s: the second attempt has the key of the first, and nothing acts twice",
  async (name, change) => {
    const [, , , again, got] = change;
    const key = keys.get(name) ?? "";
    const answer = await until(async () => {
      const given = await send(name, key, again);
      return given.status < 300 ? given : null;
    }, "the operation has its answer");
    expect(answer.status).toBeLessThan(300);
    const { acted, calls, verifications } = origin.of(name);
    const sent = got.replace("KEY", key);
    expect(calls).toEqual([sent, sent]);
    expect(acted.size).toBe(1);
    expect(new Set(verifications)).toEqual(new Set(name.startsWith("verify") ? [`${key}:charge`] : []));
  },
);
