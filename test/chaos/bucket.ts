// An R2 bucket in memory that speaks the protocol of workerd's binding: each request carries its command as JSON, in the
// header `cf-r2-request` or in the first `cf-r2-metadata-size` bytes of its body. The bucket outlives the gateway. It
// fails during outages and at random, before or after it has carried out the command.

import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import * as v from "valibot";
import { listen } from "../support/origin-server.ts";
import type { Outage } from "../guarantees/history.ts";
import type { Random } from "./random.ts";

export interface ChaosBucket {
  readonly port: number;
  /** True: every request fails. False: requests fail at random only. */
  fail(always: boolean): void;
  /** Stops all failures. */
  calm(): void;
  /** The completed objects. Uploads whose id never reached the gateway are not listed: R2 aborts them after a week. */
  names(): ReadonlySet<string>;
  close(): Promise<void>;
}

const order = v.object({
  method: v.string(),
  object: v.optional(v.string(), ""),
  objects: v.optional(v.array(v.string()), []),
  uploadId: v.optional(v.string(), ""),
  partNumber: v.optional(v.number(), 0),
  range: v.optional(
    v.object({ offset: v.optional(v.pipe(v.union([v.string(), v.number()]), v.transform(Number)), 0) }),
  ),
});
type Order = v.InferOutput<typeof order>;

interface Upload {
  readonly object: string;
  readonly parts: Map<number, Buffer>;
}

const FAILS = 0.03;
const NO_SUCH_OBJECT = 10_007;
const NO_SUCH_UPLOAD = 10_024;
const INTERNAL_ERROR = 10_001;

export async function startBucket(
  port: number,
  random: Random,
  report: (outage: Outage) => void,
): Promise<ChaosBucket> {
  const objects = new Map<string, Buffer>();
  const uploads = new Map<string, Upload>();
  let fails: "always" | "at times" | "never" = "at times";
  let begun = 0;

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const from = Date.now();
    const bytes = await buffer(request);
    const size = Number(request.headers["cf-r2-metadata-size"] ?? 0);
    const inHeader = request.headers["cf-r2-request"];
    const text = typeof inHeader === "string" ? inHeader : bytes.subarray(0, size).toString();
    const asked = v.parse(order, JSON.parse(text));
    const breaks = fails === "always" || (fails === "at times" && random.chance(FAILS));
    if (breaks) report({ type: "outage", kind: "bucket-fails", from, to: Date.now() });
    // Otherwise the command is carried out and its answer is lost.
    if (breaks && random.chance(0.7)) return refuse(response, 500, INTERNAL_ERROR);
    if (!breaks) return act(asked, bytes.subarray(size), response);
    act(asked, bytes.subarray(size), null);
    request.socket.resetAndDestroy();
  }

  /** `response` is null when the answer is lost. */
  function act(asked: Order, value: Buffer, response: ServerResponse | null): void {
    const { object, uploadId, partNumber } = asked;
    const upload = uploads.get(uploadId);
    switch (asked.method) {
      case "createMultipartUpload":
        begun += 1;
        uploads.set(`upload-${begun}`, { object, parts: new Map() });
        return tell(response, { uploadId: `upload-${begun}` });
      case "uploadPart":
        if (upload === undefined) return refuse(response, 400, NO_SUCH_UPLOAD);
        upload.parts.set(partNumber, Buffer.from(value));
        return tell(response, { etag: `part-${partNumber}` });
      case "completeMultipartUpload": {
        if (upload === undefined) return refuse(response, 400, NO_SUCH_UPLOAD);
        const parts = [...upload.parts].toSorted(([one], [other]) => one - other);
        objects.set(object, Buffer.concat(parts.map(([, part]) => part)));
        uploads.delete(uploadId);
        return tell(response, describe(object, objects.get(object)?.length ?? 0));
      }
      case "abortMultipartUpload":
        if (upload === undefined) return refuse(response, 400, NO_SUCH_UPLOAD);
        uploads.delete(uploadId);
        return tell(response, null);
      case "delete":
        for (const name of [object, ...asked.objects]) objects.delete(name);
        return tell(response, null);
      case "get": {
        const body = objects.get(object);
        if (body === undefined) return refuse(response, 404, NO_SUCH_OBJECT);
        const offset = asked.range?.offset ?? 0;
        const range = asked.range === undefined ? {} : { range: { offset, length: body.length - offset } };
        return tell(response, { ...describe(object, body.length), ...range }, body.subarray(offset));
      }
      default:
        return refuse(response, 500, INTERNAL_ERROR);
    }
  }

  await listen(server, port);
  return {
    port,
    fail: (always) => void (fails = always ? "always" : "at times"),
    calm: () => void (fails = "never"),
    names: () => new Set(Array.from(objects.keys(), (name) => name.slice(name.indexOf("/") + 1))),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function describe(name: string, size: number): object {
  const written = { uploaded: Date.now(), httpFields: {}, customFields: [], checksums: {} };
  return { name, version: "1", size, etag: "etag", ...written };
}

function tell(response: ServerResponse | null, said: object | null, body: Buffer = Buffer.alloc(0)): void {
  const json = Buffer.from(said === null ? "" : JSON.stringify(said));
  const bytes = Buffer.concat([json, body]);
  response
    ?.writeHead(200, { "cf-r2-metadata-size": String(json.length), "Content-Length": String(bytes.length) })
    .end(bytes);
}

function refuse(response: ServerResponse | null, status: number, v4code: number): void {
  const error = JSON.stringify({ message: "the bucket fails", version: 1, v4code });
  response?.writeHead(status, { "cf-r2-error": error, "Content-Length": "0" }).end();
}
