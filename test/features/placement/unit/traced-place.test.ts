// How an object finds out where it runs. The address that it asks is this test's.

import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import { tracedPlace } from "../../../../src/features/placement/object/traced-place.ts";

afterEach(() => vi.unstubAllGlobals());

async function placeAt(answer: RequestListener) {
  let asked = 0;
  const server = createServer((request, response) => {
    asked += 1;
    answer(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => server.close().closeAllConnections());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { place: tracedPlace({ ONCEWAY_PLACE: `http://127.0.0.1:${address.port}/trace` }), asked: () => asked };
}

const TRACE = "fl=1f1\nh=www.example.com\nip=192.0.2.1\nts=1764236400.0\ncolo=IAD\nhttp=http/2\nloc=US\n";

it("is asked once, however often and by however many it is wanted", async () => {
  const { place, asked } = await placeAt((_request, response) => response.end(TRACE));
  expect([place.known, asked()]).toEqual([null, 0]);
  await Promise.all([place.find(), place.find()]);
  await place.find();
  expect([place.known, asked()]).toEqual(["IAD", 1]);
});

it.each([
  ["something else", "<html>colo=IAD</html>"],
  ["nothing", ""],
  ["a name that could be anything", 'colo=IAD",evil="1\n'],
])("is ? where the answer is %s, and is not asked again", async (_what, text) => {
  const { place, asked } = await placeAt((_request, response) => response.end(text));
  await place.find();
  await place.find();
  expect([place.known, asked()]).toEqual(["?", 1]);
});

it("is ? where the connection breaks, or leads elsewhere", async () => {
  const broken = await placeAt((request) => request.destroy());
  await broken.place.find();
  expect(broken.place.known).toBe("?");
  const moved = await placeAt((_request, response) => response.writeHead(302, { Location: "http://192.0.2.1/" }).end());
  await moved.place.find();
  expect(moved.place.known).toBe("?");
});

it("is ? where no answer comes in two seconds", async () => {
  const { place } = await placeAt(() => undefined);
  const begun = performance.now();
  await place.find();
  expect(place.known).toBe("?");
  expect(performance.now() - begun).toBeLessThan(4000);
});

it("is what the machine's own gateway says, which asks nobody", async () => {
  const fetch = vi.fn<typeof globalThis.fetch>();
  vi.stubGlobal("fetch", fetch);
  const place = tracedPlace({ ONCEWAY_PLACE: "local" });
  await place.find();
  expect([place.known, fetch.mock.calls]).toEqual(["local", []]);
});

it("asks Cloudflare where nothing is said", async () => {
  const fetch = vi.fn<typeof globalThis.fetch>(() => Promise.resolve(new Response(TRACE)));
  vi.stubGlobal("fetch", fetch);
  const place = tracedPlace({});
  await place.find();
  expect(place.known).toBe("IAD");
  expect(fetch.mock.calls).toEqual([["https://www.cloudflare.com/cdn-cgi/trace", expect.anything()]]);
});
