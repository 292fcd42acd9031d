// Makes the request that `onceway try` sends from its arguments. Decides what is usable; sends nothing.

import { readFileSync } from "node:fs";

import { parseHeaderName, parseMethod } from "../config/values.ts";
import { Failure, messageOf, UNUSABLE } from "./outcome.ts";
import type { HeaderLine, OutgoingRequest } from "./send.ts";
import { parseJson } from "./sighting.ts";

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
  const headers = header
    .flatMap((argument) => (argument.startsWith("@") ? fileLines(argument) : [argument]))
    .map(readHeader);
  const isKeyHeader = ([name]: HeaderLine): boolean => name.toLowerCase() === keyHeader.toLowerCase();
  if (headers.some(isKeyHeader)) throw new Failure(UNUSABLE, "--header names the key: give it with --key");
  headers.push(readHeader(`${keyHeader}: ${key}`));
  const body = data === undefined ? null : data.startsWith("@") ? readBytes(data.slice(1)) : Buffer.from(data);
  if (body !== null && !headers.some(([name]) => name.toLowerCase() === "content-type")) {
    const isJson = parseJson(body.toString()) !== undefined;
    headers.push(["Content-Type", isJson ? "application/json" : "text/plain"]);
  }
  return { method: parsedMethod.value, url, headers, body };
}

/** The same but for its body: as JSON another value, as bytes other bytes. */
export function withOtherBody(request: OutgoingRequest): OutgoingRequest {
  const text = request.body?.toString() ?? "";
  const value = parseJson(text);
  const body = value === undefined ? `${text} onceway-try` : JSON.stringify({ "onceway-try": value });
  return { ...request, body: Buffer.from(body) };
}

function readTarget(target: string): URL {
  const url = URL.parse(target);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new Failure(UNUSABLE, `${target}: must be an http or https URL: write https://api.example.com/v1/payments`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new Failure(UNUSABLE, "URL must not carry credentials: send them with --header @FILE");
  }
  return url;
}

/** "name: value" as a pair; throws a Failure where it is none. */
export function readHeader(line: string): HeaderLine {
  const colon = line.indexOf(":");
  const name = parseHeaderName(line.slice(0, Math.max(colon, 0)));
  if (colon < 0 || !name.ok) {
    throw new Failure(UNUSABLE, `${JSON.stringify(line)} is no header: write --header 'name: value'`);
  }
  const value = line.slice(colon + 1).trim();
  if (/[^\t\u0020-\u007e\u0080-\u00ff]/.test(value)) {
    throw new Failure(
      UNUSABLE,
      `The value of ${name.value} has characters that no header may carry: write it in ASCII`,
    );
  }
  return [name.value, value];
}

/** A file keeps a credential out of the list of processes. */
function fileLines(argument: string): readonly string[] {
  return readBytes(argument.slice(1))
    .toString()
    .split(/\r?\n/)
    .filter((line) => line.trim() !== "");
}

export function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new Failure(UNUSABLE, `${file}: cannot be read (${messageOf(error)})`);
  }
}
