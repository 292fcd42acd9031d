// The calls about exchanges: takes their messages off the wire, whichever way their bodies travel, and has them run.

import { bytesBody, offeredBody } from "../body/request-body.ts";
import { receive } from "../body/upload.ts";
import { answered, type AnsweredCall, responded } from "../call.ts";
import { LOCATE_CALL } from "../elsewhere.ts";
import type { ObjectFunctions } from "../object-feature.ts";
import { epochMs } from "../record/units.ts";
import { MessageReader } from "../request/message-stream.ts";
import { decodeExchange, EXCHANGE_CALL, OFFER_CALL, UPLOAD_CALL } from "../request/message.ts";
import type { Bodies } from "../store/bodies.ts";
import type { Exchanges } from "./exchanges.ts";
import type { Timers } from "./timers.ts";

export function exchangeCalls(
  exchanges: Exchanges,
  bodies: Bodies,
  timers: Timers,
  { digestMultipart }: ObjectFunctions,
): readonly AnsweredCall[] {
  return [
    responded(EXCHANGE_CALL, async (request) => {
      const { head, body } = decodeExchange(new Uint8Array(await request.arrayBuffer()));
      return exchanges.run(head, bytesBody(body), request);
    }),
    responded(OFFER_CALL, async (request) => {
      if (request.body === null) throw new TypeError("an offer without a body");
      const message = new MessageReader(request.body);
      const head = await message.head();
      return exchanges.run(head, offeredBody(message, bodies, timers, head.encryption?.isOn === true), request);
    }),
    responded(UPLOAD_CALL, async (request) => {
      if (request.body === null) throw new TypeError("an upload without a body");
      const reception = await receive(request.body, bodies, timers, digestMultipart);
      if ("problem" in reception) return exchanges.refuse(reception.head, reception.problem);
      return exchanges.run(reception.head, reception.body, request);
    }),
    answered(LOCATE_CALL, (placed) => exchanges.elsewhere(placed, epochMs(Date.now()))),
  ];
}
