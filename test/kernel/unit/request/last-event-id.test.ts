import { describe, expect, it, vi } from "vitest";
import { EventSearch, lastEventId } from "../../../../src/kernel/resume/event-stream.ts";

const encoder = new TextEncoder();

describe("Last-Event-ID", () => {
  it.each(["1", "", "grün", "事件", "🎈", "\ufeffa"])("%j is read as the UTF-8 that an EventSource sends", (id) => {
    // The runtime shows each byte of a header as one character.
    expect(lastEventId(Buffer.from(id).toString("latin1"))).toBe(id);
  });

  it("is kept unchanged if it is not UTF-8, and is absent if the header is", () => {
    expect(lastEventId("gr\xfcn")).toBe("gr\xfcn");
    expect(lastEventId(null)).toBeNull();
  });
});

describe("the search for an event in a large body", () => {
  /** How often each byte is read in a search that finds nothing. */
  function looks(text: string, pieceBytes: number): number {
    const bytes = encoder.encode(text);
    const search = new EventSearch("nowhere");
    let count = 0;
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      const piece = bytes.subarray(at, at + pieceBytes);
      search.feed(
        new Proxy(piece, {
          get: (target, name) => {
            if (typeof name === "string" && /^\d+$/.test(name)) count += 1;
            return Reflect.get(target, name, target);
          },
        }),
      );
    }
    expect(search.offset).toBeNull();
    return count;
  }

  it.each([
    ["lines that end with LF", "data: some text\n\n"],
    ["lines that end with CR", "data: some text\r\r"],
    ["lines that end with both", "data: some text\r\n\r\n"],
    ["no end of line at all", "data: some text "],
    ["empty lines", "\n"],
    ["ids that are nearly that one", "id: nowher\nid: nowheres\n"],
    ["ids without a value", "id\n"],
    ["a NULL in every id", "id: nowhere\0\n"],
  ])("looks at no byte more than a few times: %s", (_what, line) => {
    const text = line.repeat(Math.ceil(20_000 / line.length));
    for (const pieceBytes of [1 << 18, 1000, 1]) expect(looks(text, pieceBytes)).toBeLessThanOrEqual(4 * text.length);
  });

  it("compares ids as bytes, without decoding", () => {
    const decode = vi.spyOn(TextDecoder.prototype, "decode");
    looks("\ufeffid: grün\n\nid\n\ndata\n\n".repeat(100), 1 << 18);
    expect(decode).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  });
});
