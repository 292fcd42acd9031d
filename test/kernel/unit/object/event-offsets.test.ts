import { describe, expect, it, vi } from "vitest";
import { type BodyNumber, bodyNumber } from "../../../../src/kernel/record/units.ts";
import { type BodyPosition, START } from "../../../../src/kernel/resume/event-offsets.ts";
import { EventOffsets, type SearchedBody } from "../../../../src/kernel/resume/event-offsets.ts";
import { eventually } from "../../../support/eventually.ts";

const encoder = new TextEncoder();

const CHUNK_BYTES = 256 * 1024;

/** Bodies are named by letters here. */
const numberOf = (name: string): BodyNumber =>
  bodyNumber(Array.from(name).reduce((sum, letter) => 256 * sum + (letter.codePointAt(0) ?? 0), 0));

/** A body with one event per chunk and the ids 0, 1, 2 … It records which chunks are read. */
function bodyOf(name: string, chunks: number, reads: string[], chunkBytes = CHUNK_BYTES): SearchedBody {
  return {
    body: numberOf(name),
    chunks,
    read: (chunk) => {
      reads.push(`${name}${chunk}`);
      const id = `id: ${chunk}\n: `;
      return encoder.encode(`${id.padEnd(chunkBytes - 2, ".")}\n\n`);
    },
  };
}

/** The offset after a chunk's event, which is the end of the chunk. */
const after = (chunk: number, chunkBytes = CHUNK_BYTES): BodyPosition => ({
  bytes: (chunk + 1) * chunkBytes,
  chunk,
  before: chunk * chunkBytes,
});

/** Counted pauses that end when the test says so. */
class Pauses {
  count = 0;
  #resume: () => void = () => undefined;

  readonly pause = (): Promise<void> => {
    this.count += 1;
    return new Promise((resolve) => {
      this.#resume = resolve;
    });
  };

  /** Lets the search continue for so many turns. */
  async turns(times: number): Promise<void> {
    for (let turn = 0; turn < times; turn++) {
      this.#resume();
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
  }
}

function setUp(): { offsets: EventOffsets; pauses: Pauses; reads: string[] } {
  const pauses = new Pauses();
  return { offsets: new EventOffsets(pauses.pause), pauses, reads: [] };
}

describe("the search for an event in a stored body", () => {
  it("reads one chunk a turn, up to the event, and pauses after each", async () => {
    const { offsets, pauses, reads } = setUp();
    const found = offsets.find(bodyOf("a", 9, reads), "3", null);
    expect(reads).toEqual(["a0"]);
    await pauses.turns(1);
    expect(reads).toEqual(["a0", "a1"]);
    await pauses.turns(9);
    expect(await found).toEqual(after(3));
    expect(reads).toEqual(["a0", "a1", "a2", "a3"]);
    expect(pauses.count).toBe(4);
  });

  it.each([
    ["", (bytes: ReturnType<SearchedBody["read"]>) => bytes],
    [" that is encrypted", async (bytes: ReturnType<SearchedBody["read"]>) => (await bytes) ?? new Uint8Array()],
  ])("reads several small chunks%s per turn, and says in which of them the reader continues", async (_, readAs) => {
    const { offsets, pauses, reads } = setUp();
    const body = bodyOf("a", 1000, reads, 20);
    const read = (chunk: number) => readAs(body.read(chunk));
    const found = offsets.find({ ...body, read }, "70", null);
    await eventually(() => expect(pauses.count).toBe(1));
    expect(reads).toHaveLength(32);
    await pauses.turns(9);
    expect(await found).toEqual(after(70, 20));
    expect(reads).toHaveLength(71);
    expect(pauses.count).toBe(3);
  });

  it("continues behind a two-byte line end that is split between two chunks", async () => {
    const offsets = new EventOffsets(() => Promise.resolve());
    const chunks = ["id: 1\r\n\r", "\nid: 2\r\n\r", "x"].map((chunk) => encoder.encode(chunk));
    const body = { body: numberOf("a"), chunks: 3, read: (chunk: number): Uint8Array | null => chunks[chunk] ?? null };
    expect(await offsets.find(body, "1", null)).toEqual({ bytes: 9, chunk: 1, before: 8 });
    expect(await offsets.find(body, "2", null)).toEqual({ bytes: 17, chunk: 2, before: 17 });
  });

  it("reads nothing for a repeated request, whether the id was found or not", async () => {
    const { offsets, pauses, reads } = setUp();
    const all = ["1", "nowhere"].map((id) => offsets.find(bodyOf("a", 4, reads), id, null));
    await pauses.turns(9);
    expect(await Promise.all(all)).toEqual([after(1), START]);
    const before = { reads: reads.length, pauses: pauses.count };
    for (let time = 0; time < 100; time++) {
      expect(await offsets.find(bodyOf("a", 4, reads), "1", null)).toEqual(after(1));
      expect(await offsets.find(bodyOf("a", 4, reads), "nowhere", null)).toEqual(START);
    }
    expect({ reads: reads.length, pauses: pauses.count }).toEqual(before);
  });

  it("continues where it stopped when the body has grown", async () => {
    const { offsets, pauses, reads } = setUp();
    const first = offsets.find(bodyOf("a", 2, reads), "4", null);
    await pauses.turns(3);
    expect(await first).toEqual(START);
    // For a client that leaves at once it reads no more than it has begun.
    const leaver = new AbortController();
    const left = offsets.find(bodyOf("a", 6, reads), "4", leaver.signal);
    leaver.abort();
    await pauses.turns(3);
    expect([await left, reads]).toEqual([START, ["a0", "a1", "a2"]]);
    const next = offsets.find(bodyOf("a", 6, reads), "4", null);
    await pauses.turns(5);
    expect(await next).toEqual(after(4));
    expect(reads).toEqual(["a0", "a1", "a2", "a3", "a4"]);
  });

  it("is shared by all requests for the same id", async () => {
    const { offsets, pauses, reads } = setUp();
    const all = Array.from({ length: 50 }, () => offsets.find(bodyOf("a", 5, reads), "2", null));
    await pauses.turns(9);
    expect(await Promise.all(all)).toEqual(all.map(() => after(2)));
    expect(reads).toEqual(["a0", "a1", "a2"]);
  });

  it("gives each body its turn, however many ids are searched for in another", async () => {
    const { offsets, pauses, reads } = setUp();
    for (let id = 0; id < 8; id++) void offsets.find(bodyOf("a", 100, reads), `no ${id}`, null);
    const other = offsets.find(bodyOf("b", 3, reads), "2", null);
    await pauses.turns(7);
    expect(await other).toEqual(after(2));
    expect(reads.join(" ")).toBe("a0 a1 b0 a0 b1 a0 b2 a0");
  });

  it("is skipped when too many wait, eight in a body or 64 in all: the client gets the stream from its first byte", async () => {
    const { offsets, pauses, reads } = setUp();
    const searches = (body: string, many: number): Promise<BodyPosition>[] =>
      Array.from({ length: many }, (_, index) => offsets.find(bodyOf(body, 2, reads), `0${index}`, null));
    const ofOne = searches("first", 8);
    expect(await offsets.find(bodyOf("first", 2, reads), "1", null)).toEqual(START);
    const others = Array.from({ length: 7 }, (_, index) => searches(`b${index}`, 8)).flat();
    expect(await offsets.find(bodyOf("last", 2, reads), "1", null)).toEqual(START);
    await pauses.turns(200);
    expect(await Promise.all([...ofOne, ...others])).toHaveLength(64);
    expect(reads).not.toContain("last0");
    // Nothing of it is remembered.
    const again = offsets.find(bodyOf("last", 2, reads), "1", null);
    await pauses.turns(3);
    expect(await again).toEqual(after(1));
  });

  it("ends when the last client that wanted it has left", async () => {
    const { offsets, pauses, reads } = setUp();
    const [one, other] = [new AbortController(), new AbortController()];
    const left = offsets.find(bodyOf("a", 50, reads), "40", one.signal);
    const stayed = offsets.find(bodyOf("a", 50, reads), "40", other.signal);
    await pauses.turns(2);
    one.abort();
    expect(await left).toEqual(START);
    await pauses.turns(2);
    expect(reads).toHaveLength(5);
    other.abort();
    expect(await stayed).toEqual(START);
    await pauses.turns(5);
    expect(reads).toHaveLength(5);
    expect(await offsets.find(bodyOf("a", 50, reads), "41", AbortSignal.abort())).toEqual(START);
    expect(reads).toHaveLength(5);
  });

  it("ends if the body is gone or cannot be read, and others continue", async () => {
    const { offsets, pauses, reads } = setUp();
    const logged = vi.spyOn(console, "error").mockReturnValue();
    const gone = offsets.find({ body: numberOf("g"), chunks: 3, read: () => null }, "1", null);
    const fail = (): never => {
      throw new Error("disk");
    };
    const unreadable = offsets.find({ body: numberOf("b"), chunks: 3, read: fail }, "1", null);
    const other = offsets.find(bodyOf("a", 3, reads), "1", null);
    await pauses.turns(9);
    expect(await Promise.all([gone, unreadable, other])).toEqual([START, START, after(1)]);
    expect(logged).toHaveBeenCalledOnce();
    logged.mockRestore();
  });

  it("breaks off if it cannot pause, instead of blocking everything", async () => {
    const logged = vi.spyOn(console, "error").mockReturnValue();
    const reads: string[] = [];
    const offsets = new EventOffsets(() => Promise.reject(new Error("no timer")));
    const all = ["a", "b"].map((name) => offsets.find(bodyOf(name, 9, reads), "7", null));
    expect(await Promise.all(all)).toEqual([START, START]);
    expect(reads).toEqual(["a0"]);
    expect(logged).toHaveBeenCalledOnce();
    logged.mockRestore();
  });

  it("remembers the latest 256, and none with a very long id", async () => {
    const { offsets, pauses, reads } = setUp();
    const ask = async (id: string): Promise<number> => {
      const before = reads.length;
      const found = offsets.find(bodyOf("a", 1, reads), id, null);
      await pauses.turns(2);
      await found;
      return reads.length - before;
    };
    for (let id = 0; id < 257; id++) expect(await ask(`no ${id}`)).toBe(1);
    expect(await ask("no 1")).toBe(0);
    expect(await ask("no 0")).toBe(1);
    expect(await ask("x".repeat(1025))).toBe(1);
    expect(await ask("x".repeat(1025))).toBe(1);
  });
});
