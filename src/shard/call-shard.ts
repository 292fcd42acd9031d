// The Worker's way to a shard. It fails closed: when the shard cannot be reached, or breaks, the client hears so and
// nothing else is sent anywhere.

import type { Route } from "../config/resolved.ts";
import { endAfter } from "../http/drain.ts";
import { encodeMessage } from "../http/message.ts";
import { streamMessage } from "../http/message-stream.ts";
import { problemResponse } from "../http/problem-response.ts";
import type { CallShard } from "../http/protect.ts";
import { EXCHANGE_URL, UPLOAD_URL } from "./key-shard.ts";
import { shardName } from "./naming.ts";

export function shardCaller(namespace: DurableObjectNamespace): CallShard {
  return async (route, key, parcel) => {
    try {
      const stub = stubFor(namespace, route, await shardName(key, route.shards));
      if (parcel.rest === null) return await stub.fetch(EXCHANGE_URL, { ...OPTIONS, body: encodeMessage(parcel) });
      const { stream, taken } = streamMessage(parcel, parcel.rest);
      return await endAfter(await stub.fetch(UPLOAD_URL, { ...OPTIONS, body: stream }), taken);
    } catch (error) {
      console.error({ message: "shard unavailable", reason: String(error) });
      return problemResponse({ code: "store-unavailable" }, parcel.head.echo);
    }
  };
}

/** An origin's redirect is the client's to follow. Followed here, it would choose a URL of the shard. */
const OPTIONS = { method: "POST", encodeResponseBody: "manual", redirect: "manual" } as const;

function stubFor(namespace: DurableObjectNamespace, { locationHint }: Route, name: string): DurableObjectStub {
  return namespace.get(namespace.idFromName(name), locationHint === null ? {} : { locationHint });
}
