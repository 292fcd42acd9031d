// @module-tag needs/haproxy
// Two processes of one gateway behind Debian's HAProxy, with the files of src/serve/processes: a key belongs to one process,
// whatever happens to that process.

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { rename } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as v from "valibot";
import { describeProblem } from "../../../src/kernel/record/problem.ts";
import { keyHash } from "../../../src/kernel/request/record-name.ts";
import { endpoint, freshKey, type HeaderPair, headerValue, rawRequest, type RawResponse } from "../../support/http.ts";
import { startOrigin, type TestOrigin } from "../../support/origin.ts";
import { freePort, untilRefused } from "../../support/ports.ts";
import { type Proxy, startProcessesProxy } from "../../support/proxies.ts";
import { readPage } from "../../support/docs.ts";
import {
  essence,
  isReplay,
  open,
  problemCode,
  problemOf,
  send,
  until,
  untilNotInFlight,
} from "../../support/e2e/guarantees-client.ts";
import { readLedgers } from "../../support/e2e/guarantees-ledger.ts";
import { ADMIN_TOKEN, BASE } from "../../support/e2e/operator-scene.ts";
import {
  cleanUp,
  type Deployment,
  killNow,
  serve,
  type ServeProcess,
  writeDeployment,
} from "../../support/e2e/serve-process.ts";

const OPERATOR = "127.0.0.2";
const LOCK_MS = 2_000;
const SLACK_MS = 15_000;

/** So many that both processes have some. */
const GROUPS = ["billing", "mail", "audit", "search", "stock", "ledger"];
const tokenName = (group: string): string => `${group.toUpperCase()}_TOKEN`;
const TOKENS = Object.fromEntries(GROUPS.map((group) => [tokenName(group), group.padEnd(40, "x")]));

const SECRETS = ["ADMIN_TOKEN", ...Object.keys(TOKENS)].flatMap((name) => ["--secret", name]);

/** One `serve` process, which can be lost and started again on its records. */
interface Process {
  readonly number: number;
  readonly port: number;
  readonly operatorPort: number;
  stateDir: string;
  running: ServeProcess;
}

let origin: TestOrigin;
let deployment: Deployment;
let processes: readonly [Process, Process];
let proxy: Proxy;
let url = "";

beforeAll(async () => {
  origin = await startOrigin();
  const IDEMPOTENCY = { origin: origin.url, shards: 2, trust_forwarded: true };
  const ROUTES = [
    { path: "/two-names", key_from: ["header:Idempotency-Key", "header:X-Request-Key"] },
    { path: "/own-name", key_from: ["header:X-Request-Key"] },
    { path: "/optional", key: "optional" },
    { path: "/later/*", async: "always", unknown: "hold" },
    { path: "/upload", key: "optional", idle_timeout: "1s" },
    { path: "/*", unknown: "hold", timeout: "1900ms", lock: `${LOCK_MS}ms` },
  ];
  const CONSUMERS = GROUPS.map((name) => ({ name, token: tokenName(name) }));
  deployment = await writeDeployment({ vars: { IDEMPOTENCY, ROUTES, CONSUMERS } });
  processes = [await newProcess("00", 0), await newProcess("01", 1)];
  await Promise.all(processes.map(({ running }) => running.listening()));
  proxy = await startProxy();
  url = `http://127.0.0.1:${proxy.port}`;
});

afterAll(async () => {
  await proxy.stop();
  await cleanUp();
  await origin.close();
});

async function newProcess(name: string, number: number): Promise<Process> {
  const [port, operatorPort] = [await freePort(), await freePort()];
  const stateDir = join(deployment.dir, name);
  return { number, port, operatorPort, stateDir, running: start({ number, port, operatorPort, stateDir }) };
}

function start({ number, port, operatorPort, stateDir }: Omit<Process, "running">): ServeProcess {
  const places = ["--state", stateDir, "--port", String(port), "--operator-port", String(operatorPort)];
  const own = ["--process", String(number).padStart(2, "0"), ...SECRETS];
  return serve([...deployment.args, ...places, ...own], { ADMIN_TOKEN, ...TOKENS });
}

/** SIGKILL to the process and its workerd, as when a machine fails. */
async function kill({ port, running }: Process): Promise<void> {
  const { workerd } = await running.listening();
  running.signal("SIGKILL");
  await running.exited;
  killNow(workerd);
  await untilRefused(port);
}

async function restart(one: Process): Promise<void> {
  one.running = start(one);
  await one.running.listening();
}

function startProxy(change?: (text: string) => string): Promise<Proxy> {
  const [{ port, operatorPort }, other] = processes;
  return startProcessesProxy(
    {
      ports: [port, other.port],
      operatorPorts: [operatorPort, other.operatorPort],
      operatorNetwork: `${OPERATOR}/32`,
    },
    change,
  );
}

function post(to: string, target: string, headers: readonly HeaderPair[]): Promise<RawResponse> {
  return rawRequest({ ...endpoint(to), method: "POST", target, headers, body: "{}" });
}

/** Another proxy in front of the same processes, for the time of `use`. */
async function withProxy(change: (text: string) => string, use: (url: string) => Promise<void>): Promise<void> {
  const another = await startProxy(change);
  try {
    await use(`http://127.0.0.1:${another.port}`);
  } finally {
    await another.stop();
  }
}

async function has({ stateDir }: Process, key: string): Promise<boolean> {
  const hash = await keyHash(key);
  return (await readLedgers(stateDir)).some(({ id }) => id.startsWith(hash));
}

/** The processes that have a record of the key. */
async function holders(key: string): Promise<readonly Process[]> {
  const found = await Promise.all(processes.map(async (one) => ((await has(one, key)) ? [one] : [])));
  return found.flat();
}

/** A fresh key with an answer that `one` keeps. */
async function keyOf(one: Process): Promise<string> {
  for (;;) {
    const key = freshKey();
    expect((await send(url, { path: "/pay", key })).status).toBe(201);
    if (await has(one, key)) return key;
  }
}

function quoted(key: string): string {
  return `"${key.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

describe("a key", () => {
  it("is always sent to the same process, quoted or bare, and both processes get keys", async () => {
    const keys = Array.from({ length: 32 }, freshKey);
    for (const key of keys) {
      expect(isReplay(await send(url, { path: "/pay", key }))).toBe(false);
      expect(isReplay(await send(url, { path: "/pay", key: quoted(key) }))).toBe(true);
      expect(isReplay(await send(url, { path: "/pay", key: `${quoted(key)};v=1` }))).toBe(true);
      expect(await origin.effects(key)).toBe(1);
    }
    const found = await Promise.all(keys.map(holders));
    expect(found.map((list) => list.length)).toEqual(keys.map(() => 1));
    expect(new Set(found.flat()).size).toBe(2);
  });

  it.each(['a"b', String.raw`a\b`, String.raw`a\"b`, `""`, "a;b=c", "a'b", "a%22b", "a=b", ":YQ==:"])(
    "with odd characters too: %s",
    async (odd) => {
      // Several, because one could meet the right process by chance.
      for (let round = 0; round < 8; round += 1) {
        const key = `${freshKey()}${odd}${freshKey()}`;
        expect((await send(url, { path: "/pay", key })).status).toBe(201);
        expect(isReplay(await send(url, { path: "/pay", key: quoted(key) }))).toBe(true);
      }
    },
  );

  it("keeps its scopes apart, each with its own answer", async () => {
    const key = freshKey();
    const as = (name: string) =>
      send(url, { path: "/pay", key, headers: [["Authorization", `Bearer ${name}`]] satisfies HeaderPair[] });
    const [one, two] = [await as("one"), await as("two")];
    expect([isReplay(one), isReplay(two), await origin.effects(key)]).toEqual([false, false, 2]);
    expect(essence(await as("one"))).toEqual(essence(one));
    expect(essence(await as("two"))).toEqual(essence(two));
    expect([isReplay(await as("one")), await origin.effects(key)]).toEqual([true, 2]);
    expect(await holders(key)).toHaveLength(1);
  });

  it("that is sent twice in one request is refused, by whichever process", async () => {
    for (let round = 0; round < 8; round += 1) {
      const headers: HeaderPair[] = [["Idempotency-Key", freshKey()]];
      expect(problemCode(await send(url, { path: "/pay", key: freshKey(), headers }))).toBe("key-invalid");
    }
  });

  describe("in other headers", () => {
    const line = (header: string): string =>
      `http-request set-var(txn.sent) req.fhdr(${header}) unless { var(txn.sent) -m found }`;
    const own = line("idempotency-key");
    const other = line("x-request-key");

    it("beside the standard one needs the line that src/serve/README.md gives", async () => {
      expect(readPage("src/serve/README.md").text).toContain(other);
      await withProxy(
        (text) => text.replace(own, `${own}\n  ${other}`),
        async (both) => {
          for (let round = 0; round < 8; round += 1) {
            const key = freshKey();
            const earlier = await post(both, "/two-names", [["X-Request-Key", key]]);
            expect([earlier.status, isReplay(earlier)]).toEqual([201, false]);
            expect(isReplay(await send(both, { path: "/two-names", key: quoted(key) }))).toBe(true);
          }
        },
      );
    });

    it("instead of the standard one needs that line alone, so that no other header chooses the process", async () => {
      await withProxy(
        (text) => text.replace(own, other),
        async (alone) => {
          for (let round = 0; round < 4; round += 1) {
            const key = freshKey();
            // As an SDK does that makes a new Idempotency-Key for each try.
            const tries: boolean[] = [];
            for (let turn = 0; turn < 4; turn += 1) {
              const headers: HeaderPair[] = [
                ["X-Request-Key", key],
                ["Idempotency-Key", freshKey()],
              ];
              tries.push(isReplay(await post(alone, "/own-name", headers)));
            }
            expect(tries).toEqual([false, true, true, true]);
          }
        },
      );
    });
  });
});

describe("a monitor", () => {
  const look = (method: string, target: string, headers: readonly HeaderPair[] = []): Promise<RawResponse> =>
    rawRequest({ ...endpoint(url), method, target, headers });

  it("is asked at the process that has accepted its request, whatever else its question carries", async () => {
    const accepted: { key: string; monitor: string }[] = [];
    for (const odd of ["", 'a"b', "a+b", "a%22b", "a&b", String.raw`\"x\"`, '"', "=?#"]) {
      for (let round = 0; round < 3; round += 1) {
        const key = `${odd}${freshKey()}${odd}`;
        await origin.behave({ key }, { status: 201, hold: true });
        const answer = await send(url, { path: "/later/job", key: quoted(key) });
        expect(answer.status).toBe(202);
        accepted.push({ key, monitor: headerValue(answer, "location") ?? "" });
      }
    }
    const other: HeaderPair[] = [["Idempotency-Key", freshKey()]];
    for (const { monitor } of accepted) {
      const looks = [look("GET", monitor), look("GET", monitor, other), look("HEAD", monitor)];
      expect((await Promise.all(looks)).map(({ status }) => status)).toEqual([202, 202, 202]);
    }
    // 204: it waits for its turn, and is cancelled. 409: it is in flight. 404 would say that it is cancelled, whatever it does.
    const kept: typeof accepted = [];
    for (const one of accepted) {
      const { status } = await look("DELETE", one.monitor);
      expect([204, 409]).toContain(status);
      if (status === 409) kept.push(one);
    }
    expect(kept.length).toBeGreaterThan(0);
    for (const { key } of kept) await origin.release(key);
    for (const { key, monitor } of accepted) {
      const isKept = kept.some((one) => one.key === key);
      const answer = await until(
        () => look("GET", monitor),
        ({ status }) => status !== 202,
        SLACK_MS,
      );
      expect([answer.status, await origin.effects(key)]).toEqual(isKept ? [201, 1] : [404, 0]);
    }
    const found = await Promise.all(kept.map(({ key }) => holders(key)));
    expect(new Set(found.flat()).size).toBe(2);
  });
});

describe("claims", () => {
  interface LayoutsAnswer {
    readonly claims: readonly { readonly state: string }[];
  }
  const ask = async (
    path: string,
    body: unknown,
    to = url,
  ): Promise<{ status: number; json: LayoutsAnswer & { next?: number } }> => {
    const authorization = `Bearer ${TOKENS[tokenName(/^[a-z]+/.exec(path)?.[0] ?? "")]}`;
    const init = body === null ? {} : { method: "POST", body: JSON.stringify(body) };
    const answer = await fetch(`${to}/_claims/${path}`, { headers: { authorization }, ...init });
    return { status: answer.status, json: JSON.parse(await answer.text()) };
  };
  const claim = (key: string) => ({ key, payloadHash: "h", attemptId: randomUUID() });

  it("of one group are all at one process, so that no key is granted twice", async () => {
    for (const group of GROUPS) {
      const keys = Array.from({ length: 10 }, freshKey);
      // Two consumers, each by itself and both at once.
      const asked = keys.flatMap((key) => [ask(group, { claims: [claim(key)] }), ask(group, { claims: [claim(key)] })]);
      const states = (await Promise.all(asked)).map(({ json }) => json.claims[0]?.state);
      const counted = ["granted", "in-flight"].map((state) => states.filter((one) => one === state).length);
      expect(counted).toEqual([keys.length, keys.length]);
      const batch = await ask(group, { claims: keys.map(claim) });
      expect(new Set(batch.json.claims.map(({ state }) => state))).toEqual(new Set(["in-flight"]));
    }
    const rows = await Promise.all(processes.map(({ stateDir }) => readLedgers(stateDir)));
    // The hash of six names is what it is: some are at each process.
    for (const list of rows) expect(list.length).toBeGreaterThan(0);
  });

  it("and its positions are found by every consumer", async () => {
    for (const group of GROUPS) {
      for (const offset of [7, 8]) {
        const one = { ...claim(freshKey()), position: { stream: "orders", partition: 3, offset } };
        expect((await ask(group, { claims: [one] })).json.claims).toMatchObject([{ state: "granted" }]);
        const { key, attemptId, position } = one;
        await ask(`${group}/complete`, { claims: [{ key, attemptId, position }] });
      }
      for (let round = 0; round < 4; round += 1) {
        expect((await ask(`${group}/positions?stream=orders&partition=3`, null)).json.next).toBe(9);
      }
    }
  });

  it("at a process that the proxy has not chosen are refused, as are keys and monitors there", async () => {
    const [{ port }] = processes;
    const direct = `http://127.0.0.1:${port}`;
    const key = freshKey();
    expect((await ask("billing", { claims: [claim(key)] }, direct)).status).toBe(503);
    const refused = async (method: string, target: string, headers: readonly HeaderPair[]): Promise<unknown> => {
      const answer = await rawRequest({
        ...endpoint(direct),
        method,
        target,
        headers,
        ...(method === "POST" ? { body: "{}" } : {}),
      });
      return [answer.status, problemCode(answer)];
    };
    const unavailable = [503, "store-unavailable"];
    const monitor = `/.well-known/idempotency/requests/later/job?key=${key}&print=${"0".repeat(32)}`;
    for (const chosen of [[], [["Onceway-Process", "1"]], [["Onceway-Process", "x"]]] satisfies HeaderPair[][]) {
      expect(await refused("POST", "/pay", [["Idempotency-Key", key], ...chosen])).toEqual(unavailable);
      // 404 would tell the client of an accepted request that it is cancelled.
      expect(await refused("GET", monitor, chosen)).toEqual(unavailable);
      expect(await refused("DELETE", monitor, chosen)).toEqual(unavailable);
    }
    expect(await origin.effects(key)).toBe(0);
    expect(processes[0].running.output()).toContain("process 0 was sent a key for which the proxy has chosen none");
    expect(await refused("GET", monitor, [["Onceway-Process", "0"]])).toEqual([404, "monitor-not-found"]);
  });
});

describe("the addresses of two processes", () => {
  it("can be exchanged by mistake: every key gets 503, and none acts again", async () => {
    const keys = await Promise.all(processes.map(keyOf));
    await withProxy(
      (text) =>
        text.replace(
          /(backend process_0[^]*?)127\.0\.0\.1:8800([^]*?backend process_1[^]*?)127\.0\.0\.1:8801/,
          "$1127.0.0.1:8801$2127.0.0.1:8800",
        ),
      async (exchanged) => {
        for (const key of [...keys, freshKey()]) {
          expect(problemCode(await send(exchanged, { path: "/pay", key }))).toBe("store-unavailable");
        }
      },
    );
    for (const key of keys) expect(await origin.effects(key)).toBe(1);
  });

  it("cannot be chosen by a client, and its choice does not reach the origin", async () => {
    const key = freshKey();
    const headers: HeaderPair[] = [
      ["Onceway-Process", "0"],
      ["Onceway-Process", "1"],
    ];
    expect((await send(url, { path: "/pay", key, headers })).status).toBe(201);
    const [seen] = await origin.requests(key);
    expect(seen?.headers.some(([name]) => name.toLowerCase() === "onceway-process")).toBe(false);
  });
});

describe("headers", () => {
  it("say from which address a request comes, whatever its client says", async () => {
    const key = freshKey();
    expect((await send(url, { path: "/pay", key, headers: [["CF-Connecting-IP", "192.0.2.1"]] })).status).toBe(201);
    const [seen] = await origin.requests(key);
    expect(
      seen?.headers.flatMap(([name, value]) => (name.toLowerCase() === "cf-connecting-ip" ? [value] : [])),
    ).toEqual(["127.0.0.1"]);
  });

  const many: HeaderPair[] = Array.from({ length: 900 }, (_, at) => [`X-Field-${at}`, "v"]);
  const long: HeaderPair[] = Array.from({ length: 55 }, (_, at) => [`X-Field-${at}`, "v".repeat(1000)]);

  it.each([
    ["900 lines", many],
    ["55 kB", long],
  ])("of %s reach the client with the answer, and with its replay", async (_, headers) => {
    const key = freshKey();
    await origin.behave({ key }, { status: 201, headers: headers.map(([name, value]) => [name, value]) });
    const answers = [await send(url, { path: "/pay", key }), await send(url, { path: "/pay", key })];
    for (const answer of answers) {
      expect([answer.status, headerValue(answer, "x-field-54")]).toEqual([201, headers[54]?.[1]]);
    }
    expect([answers.map(isReplay), await origin.effects(key)]).toEqual([[false, true], 1]);
  });

  it("of 55 kB reach the gateway with a request, and more is refused before anything is sent", async () => {
    const key = freshKey();
    expect((await send(url, { path: "/pay", key, headers: long })).status).toBe(201);
    const refused = freshKey();
    const answer = await send(url, { path: "/pay", key: refused, headers: [...long, ["X-More", "v".repeat(12_000)]] });
    expect([answer.status, await origin.effects(refused)]).toEqual([400, 0]);
  });
});

describe("a client that sends half a request", () => {
  it("is disconnected, so that it holds no connection that others need", async () => {
    await withProxy(
      (text) =>
        text.replace("timeout http-request 10s", "timeout http-request 1s").replace("maxconn 26000", "maxconn 2"),
      async (narrow) => {
        const halves = [0, 1].map(() => {
          const socket = connect(endpoint(narrow));
          socket.write("POST /pay HTTP/1.1\r\nHost: api.example.com\r\n");
          return socket;
        });
        const said = halves.map(async (socket) => String((await once(socket, "data"))[0]).split("\r\n")[0]);
        expect((await send(narrow, { path: "/pay", key: freshKey() })).status).toBe(201);
        expect(await Promise.all(said)).toEqual(halves.map(() => "HTTP/1.1 408 Request Time-out"));
        for (const socket of halves) socket.destroy();
      },
    );
  });

  it("takes no connection to its process from others, with or without a key", async () => {
    const [one] = processes;
    await withProxy(
      (text) => text.replace("be_conn gt 10000", "be_conn gt 4").replaceAll("maxconn 3000", "maxconn 1"),
      async (narrow) => {
        const keys = await Promise.all(Array.from({ length: 8 }, () => keyOf(one)));
        const halves = [...keys, null].map((key) => {
          const socket = connect(endpoint(narrow));
          const line = key === null ? "" : `Idempotency-Key: ${key}\r\n`;
          socket.write(
            `POST /optional HTTP/1.1\r\nHost: api.example.com\r\n${line}Content-Length: 100\r\n\r\n{"half":`,
          );
          return socket;
        });
        for (const key of keys) expect(isReplay(await send(narrow, { path: "/pay", key }))).toBe(true);
        const keyless = Array.from({ length: 4 }, () => post(narrow, "/optional", []));
        expect((await Promise.all(keyless)).map(({ status }) => status)).toEqual([201, 201, 201, 201]);
        for (const socket of halves) socket.destroy();
      },
    );
  });
});

describe("a client that stands still inside a large body", () => {
  /** Beyond what HAProxy waits for, and not all of it. */
  const halfUpload = (to: string, key: string | null, framing: string): Socket => {
    const socket = connect(endpoint(to));
    const line = key === null ? "" : `Idempotency-Key: ${key}\r\n`;
    socket.write(`POST /upload HTTP/1.1\r\nHost: api.example.com\r\n${line}${framing}\r\n\r\n`);
    socket.write(framing.startsWith("Content-Length") ? "" : "80000\r\n");
    socket.write("x".repeat(100_000));
    return socket.on("error", () => undefined).resume();
  };

  it.each([
    ["of a known length", "Content-Length: 500000"],
    ["in chunks", "Transfer-Encoding: chunked"],
  ])(
    "%s leaves half of its process to whole requests, and goes when the gateway has given it up",
    async (_, framing) => {
      const [one] = processes;
      const keys = await Promise.all(Array.from({ length: 6 }, () => keyOf(one)));
      const scaled = (text: string): string =>
        text
          .replace("be_conn gt 10000", "be_conn gt 16")
          .replace("be_conn gt 5000", "be_conn gt 4")
          .replace("timeout client 60s", "timeout client 3s");
      await withProxy(scaled, async (narrow) => {
        const still = Array.from({ length: 20 }, (_half, nth) =>
          halfUpload(narrow, keys[nth % keys.length] ?? "", framing),
        );
        const ended = still.map(async (socket) => once(socket, "close"));
        await Promise.race(ended);
        const payments = await Promise.all(keys.map((key) => send(narrow, { path: "/pay", key })));
        expect(payments.map(isReplay)).toEqual(keys.map(() => true));
        await Promise.all(ended);
      });
    },
  );

  it("and has no key leaves half of all processes to whole requests without a key", async () => {
    const scaled = (text: string): string =>
      text.replace("be_conn gt 3000", "be_conn gt 2").replaceAll("maxconn 3000", "maxconn 3");
    await withProxy(scaled, async (narrow) => {
      const still = Array.from({ length: 8 }, () => halfUpload(narrow, null, "Content-Length: 500000"));
      await Promise.race(still.map(async (socket) => once(socket, "close")));
      const others = await Promise.all([1, 2, 3].map(() => post(narrow, "/optional", [])));
      expect(others.map(({ status }) => status)).toEqual([201, 201, 201]);
      for (const socket of still) socket.destroy();
    });
  });
});

describe("a process that is killed", () => {
  it("has its keys answered 503, none of them by the other process, and replays them when it is back", async () => {
    const [living, dead] = processes;
    const [kept, lost] = [await keyOf(living), await keyOf(dead)];
    const first = await send(url, { path: "/pay", key: quoted(lost) });
    await kill(dead);
    try {
      const refusal = await send(url, { path: "/pay", key: quoted(lost) });
      const { status, retryAfterSeconds } = describeProblem({ code: "store-unavailable" });
      expect(problemOf(refusal)).toEqual({ status, code: "store-unavailable", retryable: true });
      expect(refusal.status).toBe(status);
      expect(headerValue(refusal, "retry-after")).toBe(String(retryAfterSeconds));
      expect(headerValue(refusal, "x-should-retry")).toBe("true");
      expect(headerValue(refusal, "idempotency-key")).toBe(quoted(lost));
      expect(isReplay(await send(url, { path: "/pay", key: kept }))).toBe(true);

      const fresh = Array.from({ length: 24 }, freshKey);
      const answers = await Promise.all(fresh.map((key) => send(url, { path: "/pay", key })));
      const taken = await Promise.all(fresh.map((key) => has(living, key)));
      expect(answers.map(({ status: code }) => code)).toEqual(taken.map((isTaken) => (isTaken ? 201 : 503)));
      expect(new Set(taken)).toEqual(new Set([true, false]));
      const effects = await Promise.all(fresh.map((key) => origin.effects(key)));
      expect(effects).toEqual(taken.map(Number));
    } finally {
      await restart(dead);
    }
    const again = await send(url, { path: "/pay", key: lost });
    expect([isReplay(again), again.body, await origin.effects(lost)]).toEqual([true, first.body, 1]);
  });

  it("breaks the connections of requests that it had taken, and with hold none of them is repeated", async () => {
    const [, dead] = processes;
    const lost: { key: string; response: Promise<RawResponse> }[] = [];
    // Held at the origin until one of them is in the process that will be killed.
    for (let isThere = false; !isThere;) {
      const key = freshKey();
      await origin.behave({ key }, { status: 201, hold: true });
      const { response } = open(url, { path: "/pay", key });
      await origin.arrived(key);
      isThere = await has(dead, key);
      if (isThere) lost.push({ key, response });
      else await origin.release(key);
    }
    await kill(dead);
    for (const { response } of lost) await expect(response).rejects.toThrow("before the response's headers");
    await restart(dead);
    for (const { key } of lost) {
      const later = await untilNotInFlight(url, { path: "/pay", key }, LOCK_MS + SLACK_MS);
      expect([problemCode(later), await origin.effects(key)]).toEqual(["outcome-unknown", 1]);
      await origin.release(key);
    }
  });

  it("is not replaced while it hangs: its keys wait, then the connection breaks, and nothing is sent twice", async () => {
    const [one] = processes;
    const { workerd } = await one.running.listening();
    await withProxy(
      (text) => text.replace("timeout server 15m", "timeout server 3s"),
      async (hasty) => {
        process.kill(workerd, "SIGSTOP");
        const keys = Array.from({ length: 24 }, freshKey);
        const answers = await Promise.allSettled(keys.map((key) => send(hasty, { path: "/pay", key })));
        process.kill(workerd, "SIGCONT");
        const taken = await Promise.all(
          keys.map(async (key) => {
            const answer = await untilNotInFlight(url, { path: "/pay", key }, LOCK_MS + SLACK_MS);
            expect([answer.status, await origin.effects(key)]).toEqual([201, 1]);
            return (await has(one, key)) ? "rejected" : "fulfilled";
          }),
        );
        expect(answers.map(({ status }) => status)).toEqual(taken);
        expect(new Set(taken).size).toBe(2);
      },
    );
  });

  it("takes no connections from the others' keys while it hangs, however many of its own come", async () => {
    const [hanging, living] = processes;
    const keys = await Promise.all(Array.from({ length: 12 }, () => keyOf(hanging)));
    const other = await keyOf(living);
    const { workerd } = await hanging.running.listening();
    await withProxy(
      (text) => text.replace("be_conn gt 10000", "be_conn gt 4").replace("maxconn 26000", "maxconn 6"),
      async (narrow) => {
        process.kill(workerd, "SIGSTOP");
        try {
          const answers = keys.map((key) => send(narrow, { path: "/pay", key }));
          expect(isReplay(await send(narrow, { path: "/pay", key: other }))).toBe(true);
          const refused = await Promise.any(answers);
          expect(problemCode(refused)).toBe("store-unavailable");
          process.kill(workerd, "SIGCONT");
          const codes = (await Promise.all(answers)).map((answer) =>
            isReplay(answer) ? "replay" : problemCode(answer),
          );
          expect(codes.filter((code) => code === "replay").length).toBeLessThanOrEqual(5);
          expect(new Set(codes)).toEqual(new Set(["replay", "store-unavailable"]));
        } finally {
          process.kill(workerd, "SIGCONT");
        }
      },
    );
  });

  it("does not stop requests without a key", async () => {
    const [one] = processes;
    await kill(one);
    try {
      for (let round = 0; round < 8; round += 1) {
        const bare = { host: "127.0.0.1", port: proxy.port, headers: [] };
        expect((await rawRequest({ ...bare, method: "GET", target: `/open/${freshKey()}` })).status).toBe(200);
        expect((await rawRequest({ ...bare, method: "POST", target: "/optional", body: "{}" })).status).toBe(201);
        const policy = await rawRequest({ ...bare, method: "GET", target: "/.well-known/idempotency" });
        expect(policy.status).toBe(200);
      }
    } finally {
      await restart(one);
    }
  });
});

describe("the number of processes", () => {
  it("is that of the backends: keys of a process that has none get 503, and nobody else gets them", async () => {
    await withProxy(
      (text) => text.replace("mod(2)", "mod(3)"),
      async (other) => {
        const keys = Array.from({ length: 32 }, freshKey);
        const statuses = await Promise.all(keys.map(async (key) => (await send(other, { path: "/pay", key })).status));
        expect(new Set(statuses)).toEqual(new Set([201, 503]));
        const effects = await Promise.all(keys.map((key) => origin.effects(key)));
        expect(effects).toEqual(statuses.map((status) => Number(status === 201)));
      },
    );
  });

  it("can stay as it is when a process moves with its records", async () => {
    const [one, moved] = processes;
    const key = await keyOf(moved);
    moved.running.signal("SIGTERM");
    await moved.running.exited;
    const stateDir = join(deployment.dir, "another-machine");
    await rename(moved.stateDir, stateDir);
    processes = [one, await newProcess("another-machine", 1)];
    await processes[1].running.listening();
    await proxy.stop();
    proxy = await startProxy();
    url = `http://127.0.0.1:${proxy.port}`;
    expect(isReplay(await send(url, { path: "/pay", key }))).toBe(true);
    expect(await origin.effects(key)).toBe(1);
  });
});

describe("operators", () => {
  const ask = (port: number, target: string, host: string, from: string): Promise<RawResponse> =>
    rawRequest({
      host: "127.0.0.1",
      port,
      from,
      method: "GET",
      target,
      headers: [
        ["Host", host],
        ["Authorization", `Bearer ${ADMIN_TOKEN}`],
      ],
    });

  it("reach each process by a host name, and see its records", async () => {
    const records = v.object({ records: v.array(v.object({ key: v.string() })) });
    for (const [number, one] of processes.entries()) {
      const key = await keyOf(one);
      const listed = await Promise.all(
        processes.map(async (_, at) => {
          const target = `${BASE}/records?key=${key}`;
          const answer = await ask(proxy.operatorPort, target, `ops-${at}.example.com`, OPERATOR);
          return v.parse(records, JSON.parse(answer.body.toString())).records.length;
        }),
      );
      expect(listed).toEqual(processes.map((_, at) => Number(at === number)));
    }
  });

  it("reach none from elsewhere, by another host name, or on the clients' port", async () => {
    const target = `${BASE}/health`;
    expect((await ask(proxy.operatorPort, target, "ops-0.example.com", OPERATOR)).status).toBe(200);
    expect((await ask(proxy.operatorPort, target, "ops-0.example.com", "127.0.0.1")).status).toBe(403);
    expect((await ask(proxy.operatorPort, target, "ops-9.example.com", OPERATOR)).status).toBe(503);
    expect((await ask(proxy.port, target, "ops-0.example.com", OPERATOR)).status).toBe(404);
  });
});
