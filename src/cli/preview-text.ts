// A response before it is given, for the person who is asked whether retries are to get it. Pure.

import { formatSize } from "../config/units.ts";
import { printable, printableLines } from "./look.ts";
import type { ResponsePreview } from "./operator-client.ts";

export function previewText({ status, headers, omittedHeaders, sizeBytes, body, warnings }: ResponsePreview): string {
  return [
    "Every retry gets this, marked as a replay:",
    `  ${status}`,
    ...headers.map(([name, value]) => `  ${printable(`${name}: ${value}`)}`),
    `  ${body === null ? `${formatSize(sizeBytes)} that are no text` : formatSize(sizeBytes)}`,
    ...(body === null || body === ""
      ? []
      : [
          "",
          ...printableLines(body)
            .split("\n")
            .map((line) => `  ${line}`),
        ]),
    "",
    ...(omittedHeaders.length === 0
      ? []
      : [`Its route leaves out of replays: ${printable(omittedHeaders.join(", "))}`]),
    ...warnings.map((warning) => `Warning: ${printable(warning)}`),
  ].join("\n");
}
