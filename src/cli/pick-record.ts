// Finds the record that a command means: by its id, or by the key that the client sent.

import type { Command } from "commander";

import { ID_PREFIX } from "../operator/request-schema.ts";
import { printableText } from "./look.ts";
import type { OperatorClient } from "./operator-client.ts";
import { CommandFailure, EXIT_REFUSED, EXIT_UNUSABLE } from "./exit-codes.ts";
import { readPages } from "./read-pages.ts";

export interface RecordChoice {
  readonly key?: string;
}

/** Several scopes may use one key; more candidates are not worth listing. */
const MAX_CANDIDATES = 10;

export function withRecordArgument(command: Command): Command {
  return command
    .argument("[ID]", "the record, as list shows it, or at least its first 8 digits if they are unique")
    .option("--key <KEY>", "the record of this idempotency key, instead of ID");
}

/** Throws a Failure if there is none, or more than one. */
export async function pickRecord(
  client: OperatorClient,
  id: string | undefined,
  { key }: RecordChoice,
): Promise<string> {
  if ((id === undefined) === (key === undefined))
    throw new CommandFailure(EXIT_UNUSABLE, "Write either the ID or --key KEY.");
  const idPrefix = id?.toLowerCase();
  if (idPrefix !== undefined && !ID_PREFIX.test(idPrefix)) {
    throw new CommandFailure(
      EXIT_UNUSABLE,
      `${printableText(idPrefix)} is not a record's ID: write its 64 hex digits or the first 8 or more (see npx onceway records list), or --key KEY.`,
    );
  }
  if (idPrefix?.length === 64) return idPrefix;
  const which = { ...(key === undefined ? {} : { key }), ...(idPrefix === undefined ? {} : { id: idPrefix }) };
  const found = [];
  for await (const page of readPages(client, which, MAX_CANDIDATES)) found.push(...page);
  const [only] = found;
  const sought = key === undefined ? `whose ID begins with ${idPrefix}` : `of the key ${printableText(key)}`;
  if (only === undefined) throw new CommandFailure(EXIT_REFUSED, `There is no record ${sought}.`);
  if (found.length === 1) return only.id;
  const ids = found.map(({ id: one, state, route }) => printableText(`  ${one}  ${state}  ${route}`)).join("\n");
  throw new CommandFailure(
    EXIT_REFUSED,
    `There is more than one record ${sought}. Write the ID of one of them:\n${ids}`,
  );
}
