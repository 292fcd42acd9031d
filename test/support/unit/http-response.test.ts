import { describe, expect, it } from "vitest";
import { createResponseParser } from "../http-response.ts";
import type { RawResponse } from "../http-response.ts";

/** Feeds the wire text in pieces of the given size. */
function parse(wire: string, pieceBytes: number, method = "POST", closed = false): RawResponse | null {
  const parser = createResponseParser(method);
  const bytes = Buffer.from(wire, "latin1");
  for (let at = 0; at < bytes.length; at += pieceBytes) parser.push(bytes.subarray(at, at + pieceBytes));
  if (closed) parser.close();
  return parser.response();
}

const CHUNKED =
  "HTTP/1.1 200 Fine\r\ntransfer-ENCODING: chunked\r\nX-A: 1\r\nx-a:  2 \r\n\r\n" +
  "5\r\nhello\r\n9;ext=1\r\n\r\n world!\r\n0\r\nTrailer: t\r\n\r\n";

describe("the raw response parser", () => {
  it.each([1, 2, 3, 7, 1000])("joins chunks that arrive in pieces of %i bytes", (pieceBytes) => {
    const response = parse(CHUNKED, pieceBytes);
    expect(response?.body.toString()).toBe("hello\r\n world!");
    expect(response?.complete).toBe(true);
  });

  it("keeps order, case and repeats of headers, and the status text", () => {
    const response = parse(CHUNKED, 1000);
    expect(response?.statusText).toBe("Fine");
    expect(response?.headers).toEqual([
      ["transfer-ENCODING", "chunked"],
      ["X-A", "1"],
      ["x-a", "2"],
    ]);
  });

  it("treats a chunked body without its end mark as incomplete", () => {
    const response = parse(CHUNKED.slice(0, CHUNKED.indexOf("0\r\nTrailer")), 1000, "POST", true);
    expect(response).toMatchObject({ complete: false });
    expect(response?.body.toString()).toBe("hello\r\n world!");
  });

  it.each([1, 1000])("treats a body shorter than its length as incomplete, in pieces of %i", (pieceBytes) => {
    const response = parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", pieceBytes, "POST", true);
    expect(response?.complete).toBe(false);
    expect(response?.body.toString()).toBe("hell");
  });

  it("treats a body without framing as complete only once the connection has ended", () => {
    const wire = "HTTP/1.1 200 OK\r\n\r\nall of it";
    expect(parse(wire, 4)?.complete).toBe(false);
    expect(parse(wire, 4, "POST", true)).toMatchObject({ complete: true, body: Buffer.from("all of it") });
  });

  it.each([
    ["HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"],
    ["POST", "HTTP/1.1 204 No Content\r\n\r\n"],
    ["GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"],
    ["POST", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"],
  ])("expects no body after %s: %j", (method, wire) => {
    expect(parse(wire, 1000, method)).toMatchObject({ complete: true, body: Buffer.alloc(0) });
  });

  it("skips interim responses and lists them", () => {
    const wire =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 201 \r\nContent-Length: 2\r\n\r\nok";
    expect(parse(wire, 1)).toMatchObject({ status: 201, statusText: "", interim: [100, 103], body: Buffer.from("ok") });
  });

  it("refuses what is not HTTP", () => {
    expect(() => parse("SSH-2.0-x\r\n\r\n", 1000)).toThrow("not a status line");
    expect(() => parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 1000)).toThrow(
      "not a chunk size",
    );
  });
});
