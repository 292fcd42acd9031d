// Takes an exchange's message off the wire, whichever way its body travels, and has it run.

import { decodeExchange } from "../request/message.ts";
import { MessageReader } from "../request/message-stream.ts";
import { bytesBody, offeredBody } from "../body/request-body.ts";
import { receive } from "../body/upload.ts";
import type { Exchanges } from "./exchanges.ts";
import type { Bodies } from "../store/bodies.ts";
import type { Timers } from "./timers.ts";

export async function answerExchange(
  way: "exchange" | "offer" | "upload",
  request: Request,
  exchanges: Pick<Exchanges, "run" | "refuse">,
  bodies: Bodies,
  timers: Timers,
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
      return exchanges.run(head, offeredBody(message, bodies, timers, head.encryption?.isOn === true), request);
    }
    case "upload": {
      if (request.body === null) throw new TypeError("an upload without a body");
      const reception = await receive(request.body, bodies, timers);
      if ("problem" in reception) return exchanges.refuse(reception.head, reception.problem);
      return exchanges.run(reception.head, reception.body, request);
    }
  }
}
