// Which record a command means: by its id, or by the key that the client sent.

import type { Command } from "commander";

import type { OperatorClient } from "./operator-client.ts";
import { Failure, REFUSED, UNUSABLE } from "./outcome.ts";
import { readPages } from "./read-pages.ts";

export interface RecordChoice {
  readonly key?: string;
}

/** Several scopes may use one key; more than these are not worth listing. */
const MAX_CANDIDATES = 10;

export function withRecordArgument(command: Command): Command {
  return command
    .argument("[ID]", "the record, as ls shows it")
    .option("--key <KEY>", "the record of this idempotency key, in place of ID");
}

/** Throws a Failure where there is none, or more than one. */
export async function pickRecord(
  client: OperatorClient,
  id: string | undefined,
  { key }: RecordChoice,
): Promise<string> {
  if ((id === undefined) === (key === undefined))
    throw new Failure(UNUSABLE, "Which record? Give its ID, or --key KEY.");
  if (key === undefined) {
    if (id !== undefined && /^[0-9a-f]{64}$/.test(id)) return id;
    throw new Failure(
      UNUSABLE,
      `${id} is no record's ID, which has 64 hex digits: see npx onceway ls, or give --key KEY.`,
    );
  }
  const found = [];
  for await (const page of readPages(client, { states: [], key }, MAX_CANDIDATES)) found.push(...page);
  const [only] = found;
  if (only === undefined) throw new Failure(REFUSED, `There is no record of the key ${key}.`);
  if (found.length === 1) return only.id;
  const ids = found.map((record) => `  ${record.id}  ${record.state}  ${record.route}`).join("\n");
  throw new Failure(
    REFUSED,
    `The key ${key} has a record in more than one scope. Give the ID of the one that you mean:\n${ids}`,
  );
}
