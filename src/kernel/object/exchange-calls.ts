// The calls about exchanges: takes their messages off the wire, whichever way their bodies travel, and has them run.

import { bytesBody, offeredBody } from "../body/request-body.ts";
import { receiveUpload } from "../body/upload.ts";
import { answerCall, type AnsweredCall, respondToCall } from "../call.ts";
import { LOCATE_CALL } from "../elsewhere.ts";
import type { ObjectFunctions } from "../object-feature.ts";
import { epochMs } from "../record/units.ts";
import { MessageReader } from "../request/message-stream.ts";
import { decodeExchange, EXCHANGE_CALL, OFFER_CALL, UPLOAD_CALL } from "../request/message.ts";
import type { BodyStore } from "../store/bodies.ts";
import type { ExchangeRunner } from "./exchanges.ts";
import type { ObjectTimers } from "./timers.ts";

export function exchangeCalls(
  exchanges: ExchangeRunner,
  bodies: BodyStore,
  timers: ObjectTimers,
  { digestMultipart }: ObjectFunctions,
): readonly AnsweredCall[] {
  return [
    respondToCall(EXCHANGE_CALL, async (request) => {
      const { head, body } = decodeExchange(new Uint8Array(await request.arrayBuffer()));
      return exchanges.run(head, bytesBody(body), request);
    }),
    respondToCall(OFFER_CALL, async (request) => {
      if (request.body === null) throw new TypeError("an offer without a body");
      const message = new MessageReader(request.body);
      const head = await message.head();
      return exchanges.run(head, offeredBody(message, bodies, timers, head.encryption?.isOn === true), request);
    }),
    respondToCall(UPLOAD_CALL, async (request) => {
      if (request.body === null) throw new TypeError("an upload without a body");
      const reception = await receiveUpload(request.body, bodies, timers, digestMultipart);
      if ("problem" in reception) return exchanges.refuse(reception.head, reception.problem);
      return exchanges.run(reception.head, reception.body, request);
    }),
    answerCall(LOCATE_CALL, (placed) => exchanges.elsewhere(placed, epochMs(Date.now()))),
  ];
}
