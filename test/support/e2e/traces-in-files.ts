// Searches all files below a folder for texts, in every form in which a program may have written them. Databases, their logs and
// their freed pages are files like all others.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Where a text was found: the file, and the form. */
export type Trace = readonly [text: string, form: string, file: string];

/** Every occurrence of these texts, once for each file and form. */
export function tracesIn(folder: string, texts: readonly string[]): readonly Trace[] {
  const forms = texts.flatMap((text) => formsOf(text).map(([form, bytes]) => ({ text, form, bytes })));
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap((entry): readonly Trace[] => {
      const bytes = readFileSync(join(entry.parentPath, entry.name));
      return forms.filter((one) => bytes.includes(one.bytes)).map(({ text, form }): Trace => [text, form, entry.name]);
    });
}

/** A text as it is, in UTF-16, in hexadecimal, and in base64 wherever it begins within three bytes. */
function formsOf(text: string): readonly (readonly [string, Buffer])[] {
  const bytes = Buffer.from(text);
  const base64 = [0, 1, 2].flatMap((before): readonly (readonly [string, Buffer])[] => {
    const padded = Buffer.concat([Buffer.alloc(before), bytes]);
    // Without the digits that depend on the bytes beside it.
    const begin = Math.ceil((before * 8) / 6);
    const end = Math.floor((padded.byteLength * 8) / 6);
    return [
      ["base64", Buffer.from(padded.toString("base64").slice(begin, end))],
      ["base64url", Buffer.from(padded.toString("base64url").slice(begin, end))],
    ];
  });
  return [
    ["text", bytes],
    ["UTF-16", Buffer.from(text, "utf16le")],
    ["UTF-16, big-endian", Buffer.from(text, "utf16le").swap16()],
    ["hexadecimal", Buffer.from(bytes.toString("hex"))],
    ["HEXADECIMAL", Buffer.from(bytes.toString("hex").toUpperCase())],
    ...base64,
  ];
}
