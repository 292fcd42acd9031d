// What a row keeps of an accepted request comes back as it was, and what nobody has written so is not called.

import { expect, it } from "vitest";
import { bodyNumber } from "../../../../src/kernel/record/units.ts";
import { readRequest, type StoredRequest, writeRequest } from "../../../../src/kernel/store/stored-request.ts";

function row(request: string, body: ArrayBuffer | null = null) {
  return { request, request_body: body };
}

it.each<StoredRequest["body"]>([
  { kind: "inline", bytes: new Uint8Array([0, 255]) },
  { kind: "inline", bytes: new Uint8Array() },
  { kind: "chunks", body: bodyNumber(1), count: 0, size: 0 },
  { kind: "chunks", body: bodyNumber(7), count: 3, size: 5_000_000 },
])("is read as it was written: %o", (body) => {
  const [request, bytes] = writeRequest({ head: "head", body });
  if (typeof request !== "string" || !(bytes === null || bytes instanceof ArrayBuffer)) throw new Error("no columns");
  expect(readRequest(row(request, bytes))).toEqual({ head: "head", body });
});

it.each([
  ["no JSON", "{"],
  ["no head", "{}"],
  ["a head that is no text", '{"head":1}'],
  ["no bytes", '{"head":"head"}'],
  ["no body's number", '{"head":"head","chunks":{"body":0,"count":1,"size":1}}'],
  ["a part of a piece", '{"head":"head","chunks":{"body":1,"count":0.5,"size":1}}'],
  ["less than nothing", '{"head":"head","chunks":{"body":1,"count":1,"size":-1}}'],
  ["no size", '{"head":"head","chunks":{"body":1,"count":1}}'],
])("is not called with %s", (_what, request) => expect(readRequest(row(request))).toBeNull());
