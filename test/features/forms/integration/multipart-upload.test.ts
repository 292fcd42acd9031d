import { env, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { canonicalMultipart } from "../../../../src/features/forms/multipart.ts";
import { digestMultipart } from "../../../../src/features/forms/object/digested-multipart.ts";
import { receiveUpload } from "../../../../src/kernel/body/upload.ts";
import { ObjectTimers } from "../../../../src/kernel/object/timers.ts";
import { WHOLE } from "../../../../src/kernel/request/body-reader.ts";
import type { ComparisonRule } from "../../../../src/kernel/request/comparison.ts";
import { fingerprintRequest } from "../../../../src/kernel/request/fingerprint.ts";
import { WHOLE_BODY_BYTES } from "../../../../src/kernel/request/message.ts";
import { streamMessage } from "../../../../src/kernel/request/message-stream.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { headOf } from "../../../support/integration/shard-bench.ts";

it("a large multipart body is compared by its parts, exactly as in the Worker", async () => {
  await runInDurableObject(env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId()), async (_instance, { storage }) => {
    const { bodies } = new Ledger(storage);
    const fingerprintParts = { method: "POST", path: "/", query: "", headers: [] };
    const upload = { fingerprintParts, length: null, maxBytes: 8 * WHOLE_BODY_BYTES, compare: "bytes" } as const;
    const multipart = (boundary: string, content: string): string =>
      `--${boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n${content}\r\n--${boundary}--`;
    const large = "-b".repeat(WHOLE_BODY_BYTES);
    const cases: readonly (readonly [string, ...string[]])[] = [
      ["--b-b", multipart("--b-b", "1"), multipart("--b-b", "2")],
      ["--b-b", multipart("--b-b", "1"), `x${multipart("--b-b", "1")}`],
      ["--xb", multipart("--xb", large), multipart("--xb", `${large}c`)],
    ];
    for (const [boundary, ...texts] of cases) {
      const comparison: ComparisonRule = { as: "multipart", boundary, type: "t", encoding: null, media: "t" };
      for (const text of texts) {
        const body = new TextEncoder().encode(text);
        const head = headOf({ request: { upload: { ...upload, comparison } } });
        const { stream } = streamMessage(
          { head, body },
          { next: () => Promise.resolve(WHOLE), cancel: () => undefined },
        );
        const reception = await receiveUpload(stream, bodies, new ObjectTimers(), digestMultipart);
        if (!("body" in reception)) throw new TypeError("refused");
        reception.body.release();
        expect(reception.head.request.fingerprint).toBe(
          await fingerprintRequest(fingerprintParts, body, comparison, null, canonicalMultipart),
        );
      }
    }
  });
});
