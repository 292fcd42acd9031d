// A request that passes is made from its parts, or is a copy of itself where the origin is a Worker, which may read what Cloudflare says of the client.

import { expect, it } from "vitest";
import type { Origin } from "../../../../src/kernel/config/resolved.ts";
import { type Fetcher, passThrough } from "../../../../src/kernel/request/pass-through.ts";

const ORIGINS: readonly (readonly [Origin, boolean])[] = [
  [{ kind: "binding", binding: "API" }, true],
  [{ kind: "entrypoint", entrypoint: "Api" }, true],
  [{ kind: "url", url: "https://api.example.com" }, false],
  [{ kind: "zone" }, false],
];

it.each(ORIGINS)("to %j with what Cloudflare says of the client: %s", async (origin, isCopied) => {
  const seen: unknown[] = [];
  const target: Fetcher = {
    fetch: (to) => {
      seen.push(typeof to === "string" ? null : to.cf?.["country"]);
      return Promise.resolve(new Response("ok"));
    },
  };
  const url = new URL("https://gateway.example/x");
  const request = new Request(url, { method: "POST", body: "{}", cf: { country: "CH" } });
  const passing = { request, url, origin, trustForwarded: false, keyNames: [] };
  const refuse = (): never => {
    throw new Error("refused");
  };
  expect((await passThrough(passing, target, refuse)).status).toBe(200);
  expect(seen).toEqual([isCopied ? "CH" : null]);
});
