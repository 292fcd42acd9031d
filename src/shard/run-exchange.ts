// The three ways in which an exchange comes to a shard: whole, with a body that is offered and read only if the exchange needs it, or with
// one that is stored before its head is known.

import { decodeExchange } from "../http/message.ts";
import { MessageReader } from "../http/message-stream.ts";
import { bytesBody, offeredBody } from "./body/request-body.ts";
import { receive } from "./body/upload.ts";
import type { Exchanges } from "./exchanges.ts";
import type { Bodies } from "./store/bodies.ts";

export async function runExchange(
  way: "exchange" | "offer" | "upload",
  request: Request,
  exchanges: Exchanges,
  bodies: Bodies,
): Promise<Response> {
  switch (way) {
    case "exchange": {
      const { head, body } = decodeExchange(new Uint8Array(await request.arrayBuffer()));
      return exchanges.run(head, bytesBody(body), request);
    }
    case "offer": {
      if (request.body === null) throw new TypeError("an offer without a body");
      const message = new MessageReader(request.body);
      const head = await message.head();
      const body = offeredBody(message, bodies, head.encryption?.isOn === true);
      return exchanges.run(head, body, request);
    }
    case "upload": {
      if (request.body === null) throw new TypeError("an upload without a body");
      const reception = await receive(request.body, bodies);
      if ("problem" in reception) return exchanges.refuse(reception.head, reception.problem);
      return exchanges.run(reception.head, reception.body, request);
    }
  }
}
