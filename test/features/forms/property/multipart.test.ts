// Multipart bodies: the boundary never matters, nor how the body is cut into pieces, and every other byte does. Whenever two bodies have
// one canonical form, Node's own parser (undici) reads the same parts from both.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalMultipart, MultipartSplitter } from "../../../../src/features/forms/multipart.ts";
import { counted, finish } from "../../../support/slices.ts";

const latin1 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "latin1"));
const textOf = (bytes: Uint8Array | null): string | null =>
  bytes === null ? null : Buffer.from(bytes).toString("latin1");
const canonical = (body: string, boundary: string): string | null =>
  textOf(finish(canonicalMultipart(latin1(body), boundary)));

interface Part {
  readonly name: string;
  readonly file: string | null;
  readonly type: string | null;
  readonly content: string;
}

const content = fc.string({
  unit: fc.constantFrom("a", "-", "\r", "\n", "--", "\r\n", "\r\n--", "\r\n--B", "B", "ÿ"),
  maxLength: 8,
});
const part: fc.Arbitrary<Part> = fc.record({
  name: fc.constantFrom("a", "b", "file", "x-y"),
  file: fc.constantFrom(null, "", "f.txt", "--B"),
  type: fc.constantFrom(null, "text/plain", "image/png"),
  content,
});
const parts = fc.array(part, { maxLength: 4 });

function written(list: readonly Part[], boundary: string): string {
  const sections = list.map(({ name, file, type, content: bytes }) => {
    const fileName = file === null ? "" : `; filename="${file}"`;
    const typeLine = type === null ? "" : `\r\nContent-Type: ${type}`;
    return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${fileName}${typeLine}\r\n\r\n${bytes}\r\n`;
  });
  return `${sections.join("")}--${boundary}--`;
}

/** What the platform's parser reads; `null` if it refuses the body. */
async function oracle(body: string, boundary: string): Promise<string | null> {
  const headers = { "Content-Type": `multipart/form-data; boundary="${boundary}"` };
  try {
    const form = await new Response(latin1(body), { headers }).formData();
    const entries = [...form].map(async ([name, value]) =>
      typeof value === "string"
        ? [name, value]
        : [name, value.name, value.type, Buffer.from(await value.arrayBuffer()).toString("latin1")],
    );
    return JSON.stringify(await Promise.all(entries));
  } catch {
    return null;
  }
}

const BOUNDARIES = [
  "B",
  "-b",
  "----B",
  "a--a--b",
  "xyz",
  "----WebKitFormBoundary7MA4YWxkTrZu0gW",
  "B--",
  "BB",
] as const;
const boundary = fc.constantFrom(...BOUNDARIES);
/** Browsers' boundaries are that long, and undici reads no shorter ones. */
const longBoundary = boundary.map((one) => `${one}0123456789-0123456789-0123456789`);
const isIn = (list: readonly Part[], one: string): boolean =>
  list.some((each) => `\r\n${each.content}\r\n-- ${JSON.stringify(each)}`.includes(one));

describe("a multipart body", () => {
  it("is the same with any other boundary", () => {
    fc.assert(
      fc.property(parts, boundary, boundary, (list, one, other) => {
        fc.pre(!isIn(list, one) && !isIn(list, other));
        const expected = canonical(written(list, one), one);
        expect(expected).not.toBeNull();
        expect(canonical(written(list, other), other)).toBe(expected);
        expect(canonical(`${written(list, other)}\r\n`, other)).not.toBeNull();
      }),
      { numRuns: 3_000 },
    );
  });

  it("is another one with other parts, in another order, or with any other byte", () => {
    fc.assert(
      fc.property(parts, parts, boundary, boundary, (one, other, first, second) => {
        const [form, otherForm] = [canonical(written(one, first), first), canonical(written(other, second), second)];
        if (form === null || otherForm === null) return;
        expect(form === otherForm).toBe(JSON.stringify(one) === JSON.stringify(other));
      }),
      { numRuns: 3_000 },
    );
  });

  it("has one canonical form, however it is cut into pieces", () => {
    fc.assert(
      fc.property(parts, boundary, fc.array(fc.nat(40), { maxLength: 30 }), (list, one, cuts) => {
        const body = latin1(written(list, one));
        const splitter = new MultipartSplitter(one);
        const pieces: Uint8Array[] = [];
        let at = 0;
        for (const size of [...cuts, body.length]) {
          // The piece's buffer is used again, as those of a stream are.
          const piece = body.slice(at, at + size);
          pieces.push(splitter.push(piece));
          piece.fill(0);
          at += size;
        }
        const end = splitter.end();
        const whole = canonical(written(list, one), one);
        expect(end === null ? null : textOf(Buffer.concat([...pieces, end]))).toBe(whole);
      }),
      { numRuns: 3_000 },
    );
  });

  it("that equals another is read alike by undici, whatever a mutation has made of it", async () => {
    const mutation = fc.record({
      at: fc.nat(400),
      drop: fc.nat(3),
      insert: fc.constantFrom(
        "",
        "\r\n",
        "\n",
        "--",
        "\r\n--B",
        "\n--B\r\n",
        "--B",
        " ",
        "B",
        "-",
        "\r\n--B--",
        "§",
        "--§",
        "\n--§\r\n",
        "\r\n--§\r\n",
      ),
    });
    const mutated = (body: string, changes: readonly { at: number; drop: number; insert: string }[]): string =>
      changes.reduce((text, { at, drop, insert }) => {
        const from = at % (text.length + 1);
        return text.slice(0, from) + insert + text.slice(from + drop);
      }, body);
    let equal = 0;
    await fc.assert(
      fc.asyncProperty(
        parts,
        fc.array(mutation, { maxLength: 2 }),
        longBoundary,
        longBoundary,
        fc.boolean(),
        async (list, changes, one, other, isMark) => {
          // The same changes to both: what is equal in both but for their boundaries. A mark becomes the first one's boundary in
          // both, or in each its own.
          const text = mutated(written(list, one), changes);
          const bodies = [text.replaceAll("§", one), text.replaceAll(one, other).replaceAll("§", isMark ? other : one)];
          const [form, otherForm] = [canonical(bodies[0] ?? "", one), canonical(bodies[1] ?? "", other)];
          if (form === null || form !== otherForm) return;
          equal += 1;
          expect(await oracle(bodies[1] ?? "", other)).toBe(await oracle(bodies[0] ?? "", one));
        },
      ),
      { numRuns: 5_000 },
    );
    expect(equal).toBeGreaterThan(200);
  });

  const BODY = written([{ name: "a", file: null, type: null, content: "1" }], "B");
  it.each([
    ["nothing", ""],
    ["a preamble", `preamble\r\n${BODY}`],
    ["an empty line in front", `\r\n${BODY}`],
    ["an epilogue", `${BODY}\r\nepilogue`],
    ["no closing delimiter", BODY.slice(0, -"--B--".length)],
    ["half a closing delimiter", BODY.slice(0, -1)],
    ["a delimiter that goes on", BODY.replace("--B\r\n", "--BX\r\n")],
    ["a delimiter with spaces behind it", BODY.replace("--B\r\n", "--B \r\n")],
    ["line feeds alone", BODY.replaceAll("\r\n", "\n")],
    ["the delimiter within a line", BODY.replace("1", "1--B")],
    ["the delimiter behind a line feed alone", BODY.replace("1", "1\n--B")],
    ["the delimiter in a part's header", BODY.replace('"a"', '"--B"')],
    ["one line end between two delimiters", "--B\r\n--B--"],
    ["the boundary without dashes in a part", BODY.replace("1", "1B")],
    ["the delimiter within a line of a part", BODY.replace("1", "1--B\r\nand so on")],
    ["the delimiter behind a line feed alone in a part", BODY.replace("1", "1\n--B\r\nand so on")],
    ["the boundary behind one dash in a part", BODY.replace("1", "1\r\n-B\r\nand so on")],
    ["two closing delimiters", `${BODY}\r\n--B--`],
  ])("has no canonical form with %s", (_, body) => {
    expect(canonical(BODY, "B")).not.toBeNull();
    expect(canonical(body, "B")).toBeNull();
  });

  it("may have no parts, or end with a line end", () => {
    expect(canonical("--B--", "B")).not.toBeNull();
    expect(canonical("--B--\r\n", "B")).not.toBeNull();
    expect(canonical("--B---", "B")).toBeNull();
  });

  it("is read in slices in memory", () => {
    const body = latin1(written([{ name: "a", file: "f", type: null, content: "-".repeat(1 << 20) }], "----B"));
    expect(counted(canonicalMultipart(body, "----B")).pauses).toBeGreaterThan(16);
  });
});
