import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EventSearch } from "../../../../src/kernel/resume/event-stream.ts";

const encoder = new TextEncoder();

/** The offset of the bytes after the event, in a stream that comes in these pieces. */
function offsetIn(id: string, ...pieces: readonly (string | Uint8Array)[]): number | null {
  const search = new EventSearch(id);
  for (const piece of pieces) search.feed(typeof piece === "string" ? encoder.encode(piece) : piece);
  return search.offset;
}

/** What a returning reader would get; `null` if it starts from the beginning. */
function restAfter(id: string, stream: string): string | null {
  const offset = offsetIn(id, stream);
  return offset === null ? null : new TextDecoder().decode(encoder.encode(stream).subarray(offset));
}

describe("EventSearch", () => {
  it("finds the end of the event with an id", () => {
    expect(restAfter("1", "id: 1\ndata: a\n\nid: 2\ndata: b\n\n")).toBe("id: 2\ndata: b\n\n");
    expect(restAfter("2", "id: 1\ndata: a\n\nid: 2\ndata: b\n\n")).toBe("");
  });

  it("finds nothing if no event has the id", () => {
    expect(offsetIn("3", "id: 1\ndata: a\n\nid: 2\ndata: b\n\n")).toBeNull();
    expect(offsetIn("1", "")).toBeNull();
    expect(offsetIn("1", "data: a\n\n")).toBeNull();
    expect(offsetIn("1", "data: id: 1\n\n")).toBeNull();
    expect(offsetIn("1", "ID: 1\ndata: a\n\n")).toBeNull();
    expect(offsetIn("1", " id: 1\ndata: a\n\n")).toBeNull();
    expect(offsetIn("1", "idx: 1\ndata: a\n\n")).toBeNull();
  });

  it("does not match a part of an id", () => {
    expect(restAfter("1", "id: 11\ndata: a\n\nid: 1\ndata: b\n\nx")).toBe("x");
    expect(offsetIn("11", "id: 1\ndata: a\n\n")).toBeNull();
  });

  it.each([
    ["LF", "\n"],
    ["CR", "\r"],
    ["CRLF", "\r\n"],
  ])("takes %s for the end of a line", (_, end) => {
    const stream = ["id: 1", "data: a", "", "id: 2", "data: b", "", ""].join(end);
    expect(restAfter("1", stream)).toBe(["id: 2", "data: b", "", ""].join(end));
    expect(restAfter("2", stream)).toBe("");
  });

  it("accepts different line ends in one stream", () => {
    expect(restAfter("1", "id: 1\r\ndata: a\r\rid: 2\ndata: b\n\r\n")).toBe("id: 2\ndata: b\n\r\n");
    expect(restAfter("2", "id: 1\r\ndata: a\r\rid: 2\ndata: b\n\r\nx")).toBe("x");
  });

  it("skips the LF of a CRLF that is cut between two pieces", () => {
    expect(offsetIn("1", "id: 1\r\ndata: a\r\n\r", "\nid: 2\r\n")).toBe(18);
  });

  it("does not skip a line end that begins a later piece", () => {
    // Found by the property below: the event ends with a CR, and the piece after next begins with a LF.
    expect(offsetIn("1", "id: 1\rdata: a\r\rdata: b", "\n\n")).toBe(15);
  });

  it("does not find an event before its empty line", () => {
    expect(offsetIn("1", "id: 1\ndata: a\n")).toBeNull();
    expect(offsetIn("1", "id: 1\ndata: a")).toBeNull();
    expect(offsetIn("1", "id: 1\ndata: a\n", "\n")).toBe(15);
  });

  it("finds an id after the data, and uses the last of several in one event", () => {
    expect(restAfter("1", "data: a\nid: 1\n\nrest")).toBe("rest");
    expect(restAfter("2", "id: 1\nid: 2\ndata: a\n\nrest")).toBe("rest");
    expect(offsetIn("1", "id: 1\nid: 2\ndata: a\n\nrest")).toBeNull();
  });

  it("removes exactly one space after the colon", () => {
    expect(restAfter("1", "id:1\ndata: a\n\nrest")).toBe("rest");
    expect(restAfter(" 1", "id:  1\ndata: a\n\nrest")).toBe("rest");
    expect(restAfter("a:b", "id: a:b\ndata: a\n\nrest")).toBe("rest");
  });

  it("skips comments and other fields", () => {
    expect(restAfter("1", ": id: 2\nid: 1\n: ping\nretry: 5\nevent: e\ndata: a\n\n: id: 2\nrest")).toBe(
      ": id: 2\nrest",
    );
    expect(offsetIn("2", ": id: 2\nid: 1\ndata: a\n\n")).toBeNull();
    expect(offsetIn(" 2", ": id: 2\nid: 1\ndata: a\n\n")).toBeNull();
  });

  it("counts an event with an id and no data, because the reader has stored its id", () => {
    expect(restAfter("1", "id: 1\n\nid: 2\ndata: b\n\n")).toBe("id: 2\ndata: b\n\n");
  });

  it("never skips an event that the reader may not have seen, if several have one id", () => {
    expect(restAfter("1", "id: 1\ndata: a\n\nid: 1\ndata: b\n\nid: 2\ndata: c\n\n")).toBe(
      "id: 1\ndata: b\n\nid: 2\ndata: c\n\n",
    );
  });

  it("never skips events without an id that follow the event with it", () => {
    expect(restAfter("1", "id: 1\ndata: a\n\ndata: b\n\ndata: c\n\nid: 2\ndata: d\n\n")).toBe(
      "data: b\n\ndata: c\n\nid: 2\ndata: d\n\n",
    );
  });

  it.each(["id\n", "id:\n", "id: \n"])("reads %j as an empty id, which ends the one before", (line) => {
    const stream = `id: 1\ndata: a\n\n${line}data: b\n\ndata: c\n\n`;
    expect(restAfter("1", stream)).toBe(`${line}data: b\n\ndata: c\n\n`);
  });

  it("ignores an id that contains NULL", () => {
    expect(offsetIn("1\0", "id: 1\0\ndata: a\n\n")).toBeNull();
    expect(restAfter("1", "id: 1\nid: 2\0\ndata: a\n\nrest")).toBe("rest");
  });

  it("ignores an id that contains NULL however long it is", () => {
    expect(restAfter("1", `id: 1\nid: ${"2".repeat(1000)}\0\ndata: a\n\nrest`)).toBe("rest");
  });

  it("reports when no further bytes can change the result", () => {
    const search = new EventSearch("1");
    search.feed(encoder.encode("id: 1\r\n\r"));
    expect([search.offset, search.isDone]).toEqual([8, false]);
    search.feed(encoder.encode("\nid: 2"));
    expect([search.offset, search.isDone]).toEqual([9, true]);
  });

  it("skips one byte order mark at the beginning, and treats any other as part of its line", () => {
    expect(restAfter("1", "\uFEFFid: 1\ndata: a\n\nrest")).toBe("rest");
    expect(offsetIn("1", "\uFEFF\uFEFFid: 1\ndata: a\n\n")).toBeNull();
    expect(offsetIn("1", "data: a\n\n\uFEFFid: 1\ndata: b\n\n")).toBeNull();
    expect(offsetIn("1", "id: 1\n\uFEFF\ndata: a\n")).toBeNull();
  });

  it("compares ids as text, beyond ASCII too, wherever the pieces are cut", () => {
    const stream = encoder.encode("id: grün-🦊\ndata: a\n\nrest");
    for (let at = 0; at <= stream.length; at++) {
      expect(offsetIn("grün-🦊", stream.subarray(0, at), stream.subarray(at))).toBe(stream.length - 4);
    }
  });

  it("holds no long line in memory: 32 MiB without a line end", () => {
    const piece = new Uint8Array(1 << 20).fill(0x61);
    const search = new EventSearch("1");
    const before = process.memoryUsage();
    search.feed(encoder.encode("data: "));
    for (let n = 0; n < 32; n++) search.feed(piece);
    const after = process.memoryUsage();
    const grown = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers;
    expect(grown).toBeLessThan(16 << 20);
    search.feed(encoder.encode("\nid: 1\n\n"));
    expect(search.offset).toBe(6 + (32 << 20) + 8);
  });

  const line = fc.oneof(
    fc.constantFrom(
      "id: 1",
      "id: 2",
      "id",
      "id:",
      "id:12",
      "id: 1\0",
      "id:2\0x",
      "id: 1é",
      "data: a",
      "data",
      ": ping",
      "",
      "",
      "event: x",
      "\uFEFF",
    ),
    fc.string({ unit: fc.constantFrom("i", "d", ":", " ", "1", "\uFEFF"), maxLength: 6 }),
  );
  const stream = fc
    .array(fc.tuple(line, fc.constantFrom("\n", "\r", "\r\n")), { maxLength: 30 })
    .map((lines) => encoder.encode(lines.flat().join("")));

  it("gives the same offset however the bytes are cut into pieces", () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(200)), (bytes, cuts) => {
        const at = [0, ...cuts.filter((cut) => cut < bytes.length).toSorted((a, b) => a - b), bytes.length];
        const pieces = at.map((cut, index) => bytes.subarray(cut, at[index + 1] ?? bytes.length));
        expect(offsetIn("1", ...pieces)).toBe(offsetIn("1", bytes));
      }),
      { numRuns: 2_000 },
    );
  });

  it("agrees with a parser of the whole text: the offset is after the first event with the id", () => {
    fc.assert(
      fc.property(stream, fc.constantFrom("1", "2", "12", "", " ", "1é", "1\0", "\uFEFF"), (bytes, id) => {
        expect(offsetIn(id, bytes)).toBe(wholeTextOffset(id, bytes));
      }),
      { numRuns: 10_000 },
    );
  });
});

/** The standard's algorithm on the decoded text: each `\r\n`, `\n` or `\r` ends a line. */
function wholeTextOffset(id: string, bytes: Uint8Array): number | null {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  let at = 0;
  let lastId: string | null = null;
  let anything = false;
  for (const [match, content = ""] of text.matchAll(/([^\r\n]*)(?:\r\n|\n|\r)/g)) {
    const own: string = at === 0 ? content.replace(/^\uFEFF/, "") : content;
    at += match.length;
    if (own === "") {
      if (anything && lastId === id) return encoder.encode(text.slice(0, at)).length;
      anything = false;
    } else {
      anything = true;
      const colon = own.indexOf(":");
      const field = colon < 0 ? own : own.slice(0, colon);
      const value = colon < 0 ? "" : own.slice(colon + 1).replace(/^ /, "");
      if (field === "id" && !value.includes("\0")) lastId = value;
    }
  }
  return null;
}
