// Keys from content in the Worker: a request that has no key of its own gets one that equal requests of its caller share for a while. Which requests
// may get one, the kernel decides; here the content is read. The metrics say how many did.

import type { MakeContentKey, SearchedKey } from "../../kernel/request-feature.ts";
import type { HeldBody } from "../../kernel/request/body.ts";
import { readBody, unreadOf } from "../../kernel/request/body.ts";
import { bodyRefusal } from "../../kernel/request/keyless.ts";
import { ECHO_HEADER } from "../../kernel/request/headers.ts";
import type { SearchIntent } from "../../kernel/request/intent.ts";
import { writeKey } from "../../kernel/request/key-text.ts";
import type { WorkerFeature, WorkerKernel } from "../../kernel/worker-feature.ts";
import { keyOfMembers, keyOfRequest } from "./content-key.ts";
import { readMembers } from "./content-values.ts";
import { contentKeyMetrics } from "./operator/content-key-metrics.ts";

export function contentKeysWorker({ config }: WorkerKernel): WorkerFeature {
  return {
    name: "content-keys",
    operator: { addApi: () => undefined, metrics: contentKeyMetrics(config.routes) },
  };
}

export const makeContentKey: MakeContentKey = async (intent, held, fingerprint) => {
  const { route, headers, passing } = intent;
  const { members = null } = route.contentKey ?? {};
  const needsBody = members === null || members.some(({ kind }) => kind === "json" || kind === "form");
  let body = held;
  if (body === null && needsBody) {
    const read = await readBody({ request: passing.request, headers, route }, "search");
    if (read.kind !== "whole") return { kind: "refuse", ...bodyRefusal(read, route) };
    ({ body } = read);
  }
  const bytes = body?.bytes ?? null;
  if (members === null) return keyed(intent, await keyOfRequest(await fingerprint(bytes ?? new Uint8Array())), body);
  const { request, url } = passing;
  const values = await readMembers(members, { headers, search: url.search }, bytes, request);
  switch (values.kind) {
    case "absent":
      return { kind: "absent", body };
    case "invalid": {
      body?.free();
      const unread = body === null ? unreadOf(request, headers) : null;
      return {
        kind: "refuse",
        problem: { code: "key-invalid", reason: `${values.reason} Or send a key of your own.` },
        unread,
      };
    }
    case "texts": {
      const parts = { method: request.method, path: url.pathname, members, values: values.texts };
      return keyed(intent, await keyOfMembers(parts), body);
    }
  }
};

function keyed(
  { passing: { request, url }, headers, route }: SearchIntent,
  key: string,
  body: HeldBody | null,
): SearchedKey {
  const own = { key, raw: writeKey(key), header: ECHO_HEADER, isFromContent: true } as const;
  return {
    kind: "keyed",
    intent: { kind: "exchange", request, headers, url, route, key: own },
    body: body === null ? null : { kind: "whole", body },
  };
}
