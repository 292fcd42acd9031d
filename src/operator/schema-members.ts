// The parts of the operator API's schemas: how a member is described, and the members that many answers have.

import * as v from "valibot";

import { RECORD_ID } from "./request-schema.ts";

/** Adds a member's documentation. */
export function withDescription<Schema extends v.GenericSchema>(
  schema: Schema,
  description: string,
  ...examples: readonly v.InferInput<Schema>[]
) {
  return v.pipe(schema, v.metadata({ description, ...(examples.length === 0 ? {} : { examples }) }));
}

/** What the document says of a member of a request. */
export interface MemberText {
  readonly description: string;
  readonly example?: unknown;
  /** Where it says more of the member than the Worker's own schema. */
  readonly schema?: v.GenericSchema;
}

/** A member that is described elsewhere. */
export interface DescribedMember {
  readonly described: v.GenericSchema;
}

/** The body of a request as the Worker parses it, with the documentation that it does without. */
export function describedBody<Entries extends v.ObjectEntries>(
  { entries }: { readonly entries: Entries },
  texts: { readonly [Name in keyof Entries]: MemberText | DescribedMember },
): v.GenericSchema {
  return v.strictObject(
    Object.fromEntries(
      Object.entries(entries).map(([name, entry]) => {
        const text = texts[name];
        if (text === undefined) throw new TypeError(`${name} has no description`);
        const wrapped = "wrapped" in entry ? entry.wrapped : null;
        const own = "described" in text ? text.described : memberOf(wrapped ?? entry, text);
        return [name, wrapped === null ? own : v.exactOptional(own)];
      }),
    ),
  );
}

function memberOf(own: v.GenericSchema, { description, example, schema = own }: MemberText): v.GenericSchema {
  return v.pipe(schema, v.metadata({ description, ...(example === undefined ? {} : { examples: [example] }) }));
}

/** What the OpenAPI document says of an action, and how the command line reads its answer. */
export interface DocumentedAction<
  Entries extends v.ObjectEntries = v.ObjectEntries,
  Answer extends v.GenericSchema = v.GenericSchema,
> {
  readonly path: string;
  readonly id: string;
  readonly summary: string;
  readonly description: string;
  readonly request: { readonly name: string; readonly entries: Entries; readonly schema: v.GenericSchema };
  readonly answer: { readonly description: string; readonly name: string; readonly schema: Answer };
}

/** `request`: the name of the body in the document. `members`: what it says of them. */
export function documentedAction<Entries extends v.ObjectEntries, Answer extends v.GenericSchema>(
  { path, body: { entries } }: { readonly path: string; readonly body: { readonly entries: Entries } },
  {
    request: name,
    members,
    ...texts
  }: Pick<DocumentedAction<Entries, Answer>, "id" | "summary" | "description" | "answer"> & {
    readonly request: string;
    readonly members: { readonly [Name in keyof Entries]: MemberText | DescribedMember };
  },
): DocumentedAction<Entries, Answer> {
  return { path, ...texts, request: { name, entries, schema: describedBody({ entries }, members) } };
}

/** Words that this gateway writes. Another version may write others, so readers accept any text. */
export function wordsSchema<const Word extends string>(known: readonly Word[]): v.GenericSchema<Word, string> {
  const text = v.custom<Word>((value) => typeof value === "string", "not a text");
  return v.pipe(text, v.metadata({ type: "string", enum: known }));
}

export const countSchema = v.pipe(v.number(), v.integer(), v.minValue(0));
export const attemptNumber = v.pipe(v.number(), v.integer(), v.minValue(1));
export const statusSchema = v.pipe(v.number(), v.integer());
export const timeSchema = v.pipe(v.string(), v.isoTimestamp());
export const recordIdSchema = v.pipe(v.string(), v.regex(RECORD_ID));
export const headerPairs = v.array(v.strictTuple([v.string(), v.string()]));

export const AN_ID = "9f86d081884c7d659a2feaa0c55ad0153a4bf4c2b0b822cd15d6c15b0f00a08d";
export const A_TIME = "2026-11-21T08:30:00.000Z";

export const unreachableShards = withDescription(
  v.array(v.string()),
  "Shards that did not answer within five seconds: their records are missing here.",
  [],
);

/** Which shards were not asked, because a request makes at most 900 calls. */
const notAskedSchema = v.object({
  earlier: withDescription(
    countSchema,
    "Shards that this request has not asked: what they answered earlier is in these numbers. Only of layouts with more than 128 shards.",
    0,
  ),
  missing: withDescription(
    countSchema,
    "Shards that no request has asked yet: they are missing in these numbers. Ask again.",
    0,
  ),
  oldestAnswerAt: withDescription(
    v.nullable(timeSchema),
    "When the earliest of those earlier answers was given; null without any.",
    null,
  ),
});
export const notAskedShards = withDescription(
  notAskedSchema,
  "Which shards this request has not asked: a request makes at most 900 calls.",
);

type ReadonlyDeep<T> = T extends object ? { readonly [Name in keyof T]: ReadonlyDeep<T[Name]> } : T;

/** What this gateway writes, according to a schema. What a client reads is `v.InferOutput`. */
export type WrittenBy<Schema extends v.GenericSchema> = ReadonlyDeep<v.InferInput<Schema>>;

export type NotAskedView = WrittenBy<typeof notAskedSchema>;
