import { afterEach, describe, expect, it, vi } from "vitest";
import { EventSearch, lastEventId } from "../../../src/http/event-stream.ts";

const encoder = new TextEncoder();

describe("Last-Event-ID", () => {
  it.each(["1", "", "grün", "事件", "🎈", "\ufeffa"])("%j is read as the UTF-8 that an EventSource sends", (id) => {
    // The runtime shows each byte of a header as one character.
    expect(lastEventId(Buffer.from(id).toString("latin1"))).toBe(id);
  });

  it("is taken as it is where it is no UTF-8, and absent where it is", () => {
    expect(lastEventId("gr\xfcn")).toBe("gr\xfcn");
    expect(lastEventId(null)).toBeNull();
  });
});

/** Bytes that count how many of them are looked at in the search for one. */
class Watched extends Uint8Array {
  static scanned = 0;

  override indexOf(value: number, from = 0): number {
    const at = super.indexOf(value, from);
    Watched.scanned += (at === -1 ? this.byteLength : at + 1) - from;
    return at;
  }
}

describe("the search for an event, in a large body", () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  /** How many lines are decoded, and how many bytes are looked at for an end of line, in a search that finds nothing. */
  function cost(line: string, times: number, pieceBytes: number): { decoded: number; scanned: number; bytes: number } {
    const bytes = encoder.encode(line.repeat(times));
    const search = new EventSearch("nowhere");
    Watched.scanned = 0;
    const decode = vi.spyOn(TextDecoder.prototype, "decode");
    for (let at = 0; at < bytes.byteLength; at += pieceBytes)
      search.feed(Watched.from(bytes.subarray(at, at + pieceBytes)));
    expect(search.offset).toBeNull();
    return { decoded: decode.mock.calls.length, scanned: Watched.scanned, bytes: bytes.byteLength };
  }

  it.each([
    ["lines that end with LF", "data: some text\n\n"],
    ["lines that end with CR", "data: some text\r\r"],
    ["lines that end with both", "data: some text\r\n\r\n"],
    ["no end of line at all", "data: some text "],
    ["CR alone before an LF far away", `${"data\r".repeat(50)}data\n`],
  ])("looks at each byte a few times at most: %s", (_what, line) => {
    for (const pieceBytes of [1 << 18, 1000]) {
      const { scanned, bytes } = cost(line, Math.ceil(500_000 / line.length), pieceBytes);
      vi.restoreAllMocks();
      // Once for each of the two marks, and a rest of the piece again where a mark is not in it.
      expect(scanned).toBeLessThanOrEqual(3 * bytes);
    }
  });

  it("decodes no line that cannot be an id", () => {
    const { decoded } = cost("data: some text\nevent: a\n\n", 20_000, 1 << 18);
    // An empty line ends an event, so it is looked at; the first line may begin with a byte order mark.
    expect(decoded).toBeLessThanOrEqual(20_001);
    vi.restoreAllMocks();
    expect(cost("data: some text\n", 20_000, 1 << 18).decoded).toBe(1);
  });
});
