// Builds the request of `onceway try` from its arguments and refuses invalid ones. Sends nothing.

import { parseMethod } from "../kernel/config/values.ts";
import { parseJson, readData, readHeader, readHeaders, readTarget } from "./arguments.ts";
import { Failure, UNUSABLE } from "./exit-codes.ts";
import type { HeaderLine, OutgoingRequest } from "./send.ts";

export interface TryArguments {
  readonly method: string;
  readonly data?: string;
  readonly header: readonly string[];
  readonly key: string;
  readonly keyHeader: string;
}

/** Throws a Failure that says what to write instead. */
export function buildRequest(target: string, { method, data, header, key, keyHeader }: TryArguments): OutgoingRequest {
  const url = readTarget(target);
  const parsedMethod = parseMethod(method.toUpperCase());
  if (!parsedMethod.ok)
    throw new Failure(UNUSABLE, `--method ${method} needs no protection: write POST, PATCH, PUT or DELETE`);
  const headers = [...readHeaders(header)];
  const isKeyHeader = ([name]: HeaderLine): boolean => name.toLowerCase() === keyHeader.toLowerCase();
  if (headers.some(isKeyHeader)) throw new Failure(UNUSABLE, "--header names the key: give it with --key");
  headers.push(readHeader(`${keyHeader}: ${key}`));
  const body = data === undefined ? null : readData(data);
  if (body !== null && !headers.some(([name]) => name.toLowerCase() === "content-type")) {
    const isJson = parseJson(body.toString()) !== undefined;
    headers.push(["Content-Type", isJson ? "application/json" : "text/plain"]);
  }
  return { method: parsedMethod.value, url, headers, body };
}

/** The same request with another body: another JSON value, or other bytes. */
export function withOtherBody(request: OutgoingRequest): OutgoingRequest {
  const text = request.body?.toString() ?? "";
  const value = parseJson(text);
  const body = value === undefined ? `${text} onceway-try` : JSON.stringify({ "onceway-try": value });
  return { ...request, body: Buffer.from(body) };
}
