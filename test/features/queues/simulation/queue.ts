// The queue's configuration, and the message to the shard that its consumer makes of a message.

import { readConfig } from "../../../../src/features/settings.ts";
import type { Queue } from "../../../../src/kernel/config/resolved.ts";
import type { UnknownRule } from "../../../../src/kernel/record/record.ts";
import { recordId } from "../../../../src/kernel/record/units.ts";
import type { ExchangeHead } from "../../../../src/kernel/request/message.ts";
import { withSchedule } from "../../accepted/simulation/acceptance.ts";
import { headFor } from "../../../simulation/clients.ts";
import type { Plan } from "../../../simulation/plan.ts";

export const QUEUE = "orders";
/** The binding of its queue of dead letters. */
export const DEAD_LETTERS = "DEAD";

/** So old a message is given up: it is parked, or its dead letter is sent. */
const GIVE_UP_AFTER_MS = 120;

export const CREDENTIAL = "the queue's own";

const read = new Map<UnknownRule, Queue>();

/** The queue as the gateway's own configuration reads it. */
function configured(unknown: UnknownRule): Queue {
  const known = read.get(unknown);
  if (known !== undefined) return known;
  const verify = unknown === "verify" ? { verify: "/in/by-key/{key}" } : {};
  const reading = readConfig({
    IDEMPOTENCY: { origin: "https://api.example" },
    QUEUES: [
      {
        queue: QUEUE,
        to: "/in",
        key: ["json:/key"],
        dead_letter: { binding: DEAD_LETTERS },
        log: "none",
        unknown,
        ...verify,
      },
    ],
    [DEAD_LETTERS]: {},
  });
  const queue = reading.ok ? reading.config.queues[0] : undefined;
  if (queue === undefined) throw new Error(`the queue is not configured: ${JSON.stringify(reading)}`);
  read.set(unknown, queue);
  return queue;
}

/** The same with the simulation's times. */
export function queueFor(plan: Plan): Queue {
  const queue = configured(plan.unknown);
  const { rules } = headFor(plan, "", "", "", "wait", CREDENTIAL);
  return { ...queue, giveUpAfterMs: GIVE_UP_AFTER_MS, route: { ...queue.route, rules: withSchedule(rules) } };
}

/** What reaches the simulated shard: its records have their keys as names, and its origin knows attempts by their ids. */
export function simulated(plan: Plan, { record, request, call, park, message }: ExchangeHead): ExchangeHead {
  const { key } = record;
  const head = headFor(plan, key, request.fingerprint, request.attemptId, "wait", CREDENTIAL);
  const { deadLetters } = configured(plan.unknown).route.rules;
  const letters = deadLetters === undefined ? null : { deadLetters };
  const name = { id: recordId(key), key, route: "/" };
  return {
    ...head,
    record: name,
    request,
    rules: { ...withSchedule(head.rules), ...letters },
    call: {
      ...call,
      ...head.call,
      url: call.url,
      hasBody: call.hasBody,
      headers: [...call.headers.filter(([header]) => header !== "Idempotency-Key"), ...head.call.headers],
    },
    ...(park === true && { park }),
    ...(message !== undefined && { message }),
  };
}
