// Reads what more than one command is given: repeated options, headers, files, JSON.

import { once } from "node:events";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";

import { InvalidArgumentError } from "commander";

import { parseHeaderName } from "../kernel/config/values.ts";
import { CommandFailure, messageOf, EXIT_UNUSABLE } from "./exit-codes.ts";
import type { HeaderLine } from "./send.ts";

/** Collects the values of an option that may be repeated, in order. */
export function collectValues(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** Parses "name: value". Throws a Failure if it is invalid. */
export function readHeader(line: string): HeaderLine {
  const colon = line.indexOf(":");
  const name = parseHeaderName(line.slice(0, Math.max(colon, 0)));
  if (colon < 0 || !name.ok) {
    throw new CommandFailure(EXIT_UNUSABLE, `${JSON.stringify(line)} is not a header: write --header 'name: value'`);
  }
  const value = line.slice(colon + 1).trim();
  if (/[^\t\u0020-\u007e\u0080-\u00ff]/.test(value)) {
    throw new CommandFailure(
      EXIT_UNUSABLE,
      `The value of ${name.value} has characters that no header may carry: write it in ASCII`,
    );
  }
  return [name.value, value];
}

/**
 * The values of `--header`: each a header, or `@FILE` with one on each line, so that a credential does not appear in the list of
 * processes. Throws a Failure if one is invalid.
 */
export function readHeaders(values: readonly string[]): readonly HeaderLine[] {
  return values.flatMap((value) => (value.startsWith("@") ? fileLines(value.slice(1)) : [value])).map(readHeader);
}

function fileLines(file: string): readonly string[] {
  return readBytes(file)
    .toString()
    .split(/\r?\n/)
    .filter((line) => line.trim() !== "");
}

/** The bytes of an argument that is a text, or `@FILE`. Throws a Failure if the file cannot be read. */
export function readData(value: string): Buffer {
  return value.startsWith("@") ? readBytes(value.slice(1)) : Buffer.from(value);
}

/** An http or https URL without credentials. Throws a Failure if it is none. */
export function readTarget(target: string): URL {
  const url = URL.canParse(target) ? new URL(target) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new CommandFailure(
      EXIT_UNUSABLE,
      `${target}: must be an http or https URL: write https://api.example.com/v1/payments`,
    );
  }
  if (url.username !== "" || url.password !== "") {
    throw new CommandFailure(EXIT_UNUSABLE, "URL must not carry credentials: send them with --header @FILE");
  }
  return url;
}

/** Throws a Failure if the file cannot be read. */
export function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new CommandFailure(EXIT_UNUSABLE, `${file}: cannot be read (${messageOf(error)})`);
  }
}

/** Throws a Failure if the file cannot be written. */
export function writeBytes(file: string, bytes: Buffer): void {
  try {
    // The response may be confidential: only this user may read the file.
    writeFileSync(file, bytes, { mode: 0o600 });
  } catch (error) {
    throw new CommandFailure(EXIT_UNUSABLE, `${file}: cannot be written (${messageOf(error)})`);
  }
}

/** Writes what comes from a gateway piece by piece, to the standard output without a file. Returns how many lines it has. */
export async function writePieces(file: string | null, pieces: AsyncIterable<Uint8Array>): Promise<number> {
  // What was there before is not mixed with it.
  if (file !== null) writeBytes(file, Buffer.alloc(0));
  let lines = 0;
  for await (const piece of pieces) {
    for (const byte of piece) if (byte === LINE_FEED) lines += 1;
    if (file !== null) appendBytes(file, piece);
    else if (!process.stdout.write(piece)) await once(process.stdout, "drain");
  }
  return lines;
}

const LINE_FEED = 0x0a;

function appendBytes(file: string, bytes: Uint8Array): void {
  try {
    appendFileSync(file, bytes);
  } catch (error) {
    throw new CommandFailure(EXIT_UNUSABLE, `${file}: cannot be written (${messageOf(error)})`);
  }
}

/** The value of `--as-of`. */
export function readAsOf(value: string): string {
  if (!/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) || Number.isNaN(Date.parse(value))) {
    throw new InvalidArgumentError("Write a time such as --dry-run prints, 2026-11-23T03:12:40.118Z.");
  }
  return value;
}

/** Undefined when the text is not JSON. */
export function parseJsonText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
