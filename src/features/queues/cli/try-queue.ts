// `onceway try --queue NAME`: has the gateway give a queue's consumer one message twice, and says what that proves. The gateway does
// it, because nothing outside can put the same message into a queue twice.

import type { InferOutput } from "valibot";

import { askYes, openDialogue } from "../../../cli/ask.ts";
import { parseJsonText, readBytes } from "../../../cli/arguments.ts";
import { CommandFailure, OK, EXIT_REFUSED, EXIT_UNUSABLE } from "../../../cli/exit-codes.ts";
import { alignColumns, jsonLine, type TerminalLook, lookOf, printableText } from "../../../cli/look.ts";
import { connectOperator, type OperatorOptions } from "../../../cli/operator-options.ts";
import { tryQueueAction } from "../operator/openapi.ts";
import type { trialSchema } from "../operator/queue-schema.ts";

export type QueueTrial = InferOutput<typeof trialSchema>;

/** A message for a queue's consumer: any JSON value, or bytes in base64. */
type TriedMessage = { readonly body: unknown } | { readonly bodyBase64: string };

export interface TryQueueOptions extends OperatorOptions {
  readonly queue: string;
  readonly data?: string;
  readonly yes?: boolean;
}

/** What a trial proves. */
export interface TrialFinding {
  readonly works: boolean;
  readonly happened: string;
  readonly advice: string | null;
}

export async function tryQueue(options: TryQueueOptions, timeoutMs: number): Promise<void> {
  const { queue, data, yes, json } = options;
  if (data === undefined) {
    throw new CommandFailure(EXIT_UNUSABLE, `Missing --data: write the message, --data '{"id":"try-1"}', or @FILE.`);
  }
  const client = connectOperator(options);
  await confirmTrying(queue, yes === true);
  // It waits for the origin, so it has a time limit of its own.
  const trial = await client.perform(tryQueueAction, { queue, ...messageOf(data) }, timeoutMs);
  const finding = judgeTrial(trial);
  console.log(json === true ? jsonLine({ ...finding, ...trial }) : trialReport(trial, finding, lookOf(process.stdout)));
  process.exitCode = finding.works ? OK : EXIT_REFUSED;
}

/** JSON and text as what they are; a file that is neither, as bytes. */
function messageOf(data: string): TriedMessage {
  const bytes = data.startsWith("@") ? readBytes(data.slice(1)) : Buffer.from(data);
  const text = bytes.toString();
  if (!Buffer.from(text).equals(bytes)) return { bodyBase64: bytes.toString("base64") };
  const value = parseJsonText(text);
  return { body: value === undefined ? text : value };
}

async function confirmTrying(queue: string, isSure: boolean): Promise<void> {
  if (isSure) return;
  const warning = `The gateway handles this message as one of the queue ${printableText(queue)}, twice, for real: it takes effect at the origin.`;
  const dialogue = openDialogue();
  if (dialogue === null)
    throw new CommandFailure(EXIT_UNUSABLE, `${warning}\nNothing was sent: add --yes if that is what you want.`);
  if (!(await askYes(dialogue, `${warning} Send it?`))) throw new CommandFailure(EXIT_UNUSABLE, "Nothing was sent.");
}

/** Pure. */
export function judgeTrial({ deliveries, attempts, recordId }: QueueTrial): TrialFinding {
  const [first, second] = deliveries;
  const show = `See "npx onceway records show ${recordId}".`;
  const open = deliveries.find(({ decision }) => decision !== "ack");
  if (first === undefined || second === undefined) return fails("The gateway made no two deliveries.", show);
  if (open?.decision === "dead") {
    return fails(`The message became a dead letter: ${open.reason ?? "no reason is known"}.`, show);
  }
  if (open?.decision === "park") {
    return fails("Its outcome is unknown, so its record keeps the message, and it is not delivered again.", show);
  }
  if (open !== undefined && open.reason !== null) {
    const happened = `Its dead letter (${open.reason}) was not accepted, so the queue would deliver it again.`;
    return fails(happened, "Check the binding that dead_letter names, and the gateway's log.");
  }
  if (open !== undefined) {
    return fails(
      `The message is not settled: its queue would deliver it again (${open.answer ?? "no answer from its shard"}).`,
      `${show} Its origin may be down, or slow.`,
    );
  }
  if (first.answer !== "first") {
    return fails(
      "The key has a record from before, so nothing was sent to the origin.",
      "Give a message with a key that has not been used.",
    );
  }
  if (attempts !== 1) {
    return fails(
      attempts === null ? "The record was not found." : `The origin was called ${attempts} times.`,
      attempts === null ? "A shard may not have answered: run it again with a new key." : show,
    );
  }
  return {
    works: true,
    happened: "The second delivery was settled by the record of the first: one attempt at the origin, one effect.",
    advice: null,
  };
}

function fails(happened: string, advice: string): TrialFinding {
  return { works: false, happened, advice };
}

const ORDINALS = ["first delivery", "second delivery"];

export function trialReport(trial: QueueTrial, { works, happened, advice }: TrialFinding, look: TerminalLook): string {
  const { queue, messageId, recordId, deliveries, attempts } = trial;
  const rows = deliveries.map(({ decision, reason, afterMs, answer, status }, index) => [
    ORDINALS[index] ?? "",
    printableText([decision, ...(reason === null ? [] : [reason])].join(": ")),
    printableText([answer ?? "no answer", ...(status === null ? [] : [status])].join(" ")),
    afterMs === null ? "" : `again in ${Math.ceil(afterMs / 1000)} s`,
  ]);
  return [
    look.paint("bold", `queue ${printableText(queue)}`),
    look.paint("dim", `message ${printableText(messageId)}, record ${printableText(recordId)}`),
    ...alignColumns(rows).map((line) => `  ${line}`),
    `  attempts at the origin: ${attempts ?? "unknown"}`,
    "",
    works ? look.paint("green", `✓ ${happened}`) : look.paint("red", `✗ ${printableText(happened)}`),
    ...(advice === null ? [] : [`  ${look.paint("yellow", "→")} ${printableText(advice)}`]),
  ].join("\n");
}
