import { createHash } from "node:crypto";
import { posix } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { attemptId, durationMs, fingerprint, recordId } from "../../../src/kernel/record/units.ts";
import { digest } from "../../../src/kernel/request/digest.ts";
import { canonicalJson } from "../../support/canonical-json.ts";
import { type FingerprintParts, fingerprintRequest } from "../../../src/kernel/request/fingerprint.ts";
import { HeaderSnapshot } from "../../../src/kernel/request/headers.ts";
import { parseKey } from "../../../src/kernel/request/key.ts";
import { decodeExchange, decodeMessage, encodeExchange, encodeMessage } from "../../../src/kernel/request/message.ts";
import { pathForms, plainestPath } from "../../../src/kernel/request/path.ts";
import { finish } from "../../support/slices.ts";

const part = fc.option(fc.oneof(fc.string({ maxLength: 4 }), fc.uint8Array({ maxLength: 4 })));

const headerName = fc.constantFrom("Accept", "accept", "X-One", "x-one", "Cookie", "x_one", "X-Empty");
const headerValue = fc.string({ unit: fc.constantFrom("a", "B", ",", ";", "=", " ", "é"), maxLength: 6 });

describe("a snapshot of headers", () => {
  it("answers like the headers themselves", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(headerName, headerValue), { maxLength: 6 }), headerName, (pairs, name) => {
        const headers = new Headers(pairs);
        const snapshot = new HeaderSnapshot(headers);
        expect([...snapshot]).toEqual([...headers]);
        expect(snapshot.get(name)).toBe(headers.get(name));
        expect(snapshot.has(name)).toBe(headers.has(name));
      }),
    );
  });

  it("joins lines that the runtime shows one by one", () => {
    const lines: [string, string][] = [
      ["x-one", "a"],
      ["X-One", "b"],
    ];
    expect(new HeaderSnapshot(lines).get("X-ONE")).toBe("a, b");
  });
});

describe("digest", () => {
  it("is that of each part behind its length, whatever alphabet a text is in", async () => {
    const texts = fc.string({ unit: fc.constantFrom("a", "~", "é", "漢", "🙂", "\ud800"), maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(fc.array(texts, { maxLength: 4 }), async (parts) => {
        const bytes = parts.flatMap((text) => {
          const encoded = new TextEncoder().encode(text);
          return [0, 0, 0, encoded.byteLength, ...encoded];
        });
        const hash = createHash("sha256").update(new Uint8Array(bytes));
        expect(await digest(parts)).toBe(hash.digest("hex"));
      }),
    );
  });

  it("is the same only for the same parts: no part moves across a boundary", async () => {
    const plain = (parts: readonly (string | Uint8Array | null)[]): string =>
      JSON.stringify(
        parts.map((one) =>
          one === null ? null : [...(typeof one === "string" ? new TextEncoder().encode(one) : one)],
        ),
      );
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 4 }), fc.array(part, { maxLength: 4 }), async (one, other) => {
        expect((await digest(one)) === (await digest(other))).toBe(plain(one) === plain(other));
      }),
      { numRuns: 500 },
    );
  });

  it("depends on where one part ends and the next begins", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ minLength: 1 }), fc.nat(), async (text, at) => {
        const cut = at % (text.length + 1);
        expect(await digest([text.slice(0, cut), text.slice(cut)])).not.toBe(await digest([text]));
      }),
    );
  });
});

const parts: fc.Arbitrary<FingerprintParts & { readonly body: Uint8Array }> = fc.record({
  method: fc.constantFrom("POST", "PATCH", "PUT"),
  path: fc.webPath(),
  query: fc.webQueryParameters().map((query) => (query === "" ? "" : `?${query}`)),
  headers: fc.array(fc.option(fc.string({ maxLength: 5 })), { maxLength: 3 }),
  body: fc.uint8Array({ maxLength: 20 }),
});

describe("digests at once", () => {
  it("are those of one after the other", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(part, { maxLength: 5 }), { maxLength: 8 }), async (lists) => {
        const atOnce = await Promise.all(lists.map((list) => digest(list)));
        for (const [at, list] of lists.entries()) expect(await digest(list)).toBe(atOnce[at]);
      }),
    );
  });
});

describe("fingerprint", () => {
  it("changes with any part", async () => {
    await fc.assert(
      fc.asyncProperty(
        parts,
        parts,
        fc.constantFrom("method", "path", "query", "headers", "body"),
        async (one, other, changed) => {
          const mixed = { ...one, [changed]: other[changed] };
          const same = JSON.stringify([...one.body, one[changed]]) === JSON.stringify([...mixed.body, mixed[changed]]);
          expect(
            (await fingerprintRequest(one, one.body, { as: "bytes" })) ===
              (await fingerprintRequest(mixed, mixed.body, { as: "bytes" })),
          ).toBe(same);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("is the same for every spelling of one JSON value", () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const compact = finish(canonicalJson(new TextEncoder().encode(JSON.stringify(value))));
        const spaced = finish(canonicalJson(new TextEncoder().encode(JSON.stringify(value, null, 3))));
        expect(spaced).toEqual(compact);
      }),
    );
  });
});

describe("key", () => {
  const visible = fc.string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCodePoint(code)),
    minLength: 1,
    maxLength: 255,
  });

  it("is the same quoted or bare", () => {
    fc.assert(
      fc.property(visible, (key) => {
        const read = (value: string): string => {
          const parsed = parseKey(new Headers({ "Idempotency-Key": value }), ["Idempotency-Key"], {
            pattern: null,
            min: 1,
            max: 255,
          });
          return parsed.kind === "key" ? parsed.key : parsed.kind;
        };
        const quoted = `"${key.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
        expect(read(quoted)).toBe(key);
        if (!key.includes(",") && !key.startsWith('"')) expect(read(key)).toBe(key);
      }),
    );
  });
});

describe("message", () => {
  it("arrives unchanged", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 500 }),
        fc.string({ unit: "binary" }),
        fc.array(fc.tuple(fc.string(), fc.string())),
        fc.array(fc.string({ unit: fc.constantFrom("a", '"', "\\", "}", ","), maxLength: 3 }), { maxLength: 2 }),
        (body, text, headers, omitHeaders) => {
          const message = {
            head: {
              record: { id: recordId(text), key: text, route: text },
              request: {
                echo: text,
                attemptId: attemptId("a"),
                fingerprint: fingerprint("f"),
                sameBytes: true,
                upload: null,
                isCached: false,
                lastEventId: null,
              },
              rules: {
                policy: {
                  unknown: "hold" as const,
                  lockMs: durationMs(1),
                  retentionMs: durationMs(2),
                  unknownRetentionMs: durationMs(3),
                },
                lists: { refused: [503], ambiguous: [] },
                duplicate: "reject" as const,
                waitMs: 0,
                timeoutMs: 1,
                idleTimeoutMs: 1,
                maxResponseBodyBytes: 1,
                keyReusedStatus: 422,
                omitHeaders,
              },
              call: { origin: { kind: "zone" as const }, method: "POST", url: text, headers, hasBody: true },
              telemetry: { log: "none" as const, serverTiming: false, trace: null },
              verification: null,
            },
            body,
          };
          // The second time its rules are known.
          for (let time = 0; time < 2; time += 1) expect(decodeExchange(encodeExchange(message))).toEqual(message);
          // Both are the same JSON.
          expect(decodeMessage(encodeExchange(message))).toEqual(message);
          expect(decodeExchange(encodeMessage(message))).toEqual(message);
        },
      ),
    );
  });
});

describe("plainestPath", () => {
  it("is stable when applied twice, unless an escape hid another", () => {
    fc.assert(
      fc.property(fc.webPath(), (path) => {
        const plain = plainestPath(new URL(`http://h${path}`).pathname);
        if (!plain.includes("%"))
          expect(plainestPath(new URL(`http://h${encodeURI(plain)}`).pathname)).toBe(plain.split(/[?#]/)[0]);
      }),
    );
  });
});

/** How different servers transform a path before their router sees it. */
const SERVERS: Readonly<Record<string, (path: string) => string>> = {
  "Express, Koa": (path) => path,
  "Django, WSGI": (path) => decodeURIComponent(path),
  "Fastify, Go": (path) =>
    path
      .split("/")
      .map((segment) => decodeURIComponent(segment).replaceAll("/", "%2f"))
      .join("/"),
  Spring: (path) =>
    `/${path
      .split("/")
      .map((segment) => decodeURIComponent(segment.split(";")[0] ?? "").replaceAll("/", "%2f"))
      .filter((segment) => segment !== "")
      .join("/")}`,
  nginx: (path) => posix.normalize(decodeURIComponent(path)),
  "a decoding proxy before Fastify": (path) => SERVERS["Fastify, Go"]?.(decodeURIComponent(path)) ?? path,
};

describe("pathForms", () => {
  const piece = fc.constantFrom(
    "a",
    "b",
    "%61",
    "%2f",
    "%2F",
    "%3b",
    ";x",
    "%25",
    "%2561",
    "/",
    "//",
    "%2e",
    "..%2f",
    "%c3%a9",
  );
  const path = fc
    .array(piece, { minLength: 1, maxLength: 8 })
    .map((pieces) => new URL(`http://h/${pieces.join("")}`).pathname);

  it.each(Object.keys(SERVERS))("includes the form that a router sees behind: %s", (name) => {
    fc.assert(
      fc.property(path, (written) => {
        let seen: string;
        try {
          seen = SERVERS[name]?.(written) ?? "";
        } catch {
          return;
        }
        // The route finder handles trailing slashes.
        const bare = (one: string): string => one.replace(/(?<=.)\/+$/, "");
        expect({ written, forms: pathForms(written)?.map(bare) }).toEqual({
          written,
          forms: expect.arrayContaining([bare(seen)]),
        });
      }),
      { numRuns: 2_000 },
    );
  });
});
