// The components of the OpenAPI document: the frame's schemas by name, the refusals, parameters, headers and tokens that its operations share.

import { toJsonSchema } from "@valibot/to-json-schema";
import type { GenericSchema, ObjectEntries } from "valibot";

import type { QueryEntries } from "./query.ts";
import {
  endedSchema,
  exchangeSchema,
  healthSchema,
  layoutSchema,
  layoutsSchema,
  problemSchema,
  recentSchema,
  shardCountsSchema,
  totalsSchema,
} from "./gateway-schema.ts";
import { forgottenSchema, givenResponseMembers, previewSchema, reasonMember } from "./change-schema.ts";
import { ACTION_TEXTS, actionNamed, RECORD_ACTIONS, type RecordActionName } from "./record-actions/record-actions.ts";
import { recordPageSchema, recordSchema, stateSchema, summarySchema } from "./record-schema.ts";
import { describedBody, type DocumentedAction, type MemberText } from "./schema-members.ts";
import { eventSchema } from "./timeline-schema.ts";
import { LIST_LIMITS, RECORD_ID } from "./request-schema.ts";

export type OpenApiJson = Readonly<Record<string, unknown>>;

/** What a feature adds to the document. */
export interface OpenApiFeature {
  readonly name: string;
  /** Its schemas, by names that nobody else has. */
  readonly schemas?: Readonly<Record<string, GenericSchema>>;
  readonly paths?: OpenApiJson;
  /** Its actions, whose schemas and paths are made of their declarations. */
  readonly actions?: readonly DocumentedAction[];
  readonly parameters?: OpenApiJson;
}

/** Members that several actions on records take. */
const SHARED: Readonly<Record<string, MemberText>> = {
  preview: { description: "Change nothing: the answer says whether it would be done.", example: true },
  response: { description: "At most one of body and bodyBase64; at most 1 MiB.", schema: givenResponseMembers },
};

/** The body of an action on a record, with the documentation of its members. */
export function actionRequestSchema(name: RecordActionName): GenericSchema {
  return describedBody<ObjectEntries>(actionNamed(name).body, { ...SHARED, ...ACTION_TEXTS[name].members });
}

/** The frame's schemas, by the names that the OpenAPI document gives them. */
export const SCHEMAS: Readonly<Record<string, GenericSchema>> = {
  State: stateSchema,
  Summary: summarySchema,
  Record: recordSchema,
  RecordPage: recordPageSchema,
  Event: eventSchema,
  ShardCounts: shardCountsSchema,
  Totals: totalsSchema,
  Layout: layoutSchema,
  Layouts: layoutsSchema,
  Health: healthSchema,
  Exchange: exchangeSchema,
  Recent: recentSchema,
  Preview: previewSchema,
  Forgotten: forgottenSchema,
  Ended: endedSchema,
  ReasonText: reasonMember,
  ...Object.fromEntries(RECORD_ACTIONS.map(({ name, words }) => [words.title, actionRequestSchema(name)])),
  Problem: problemSchema,
};

/** The schemas of a feature, those of its actions among them. */
export function schemasOf({ schemas = {}, actions = [] }: OpenApiFeature): Readonly<Record<string, GenericSchema>> {
  const named = actions.flatMap(({ request, answer }) => [request, answer]);
  return { ...schemas, ...Object.fromEntries(named.map(({ name, schema }) => [name, schema])) };
}

export const PROBLEMS = {
  Unauthorized: {
    status: 401,
    code: "operator-unauthorized",
    description: "No token, or a wrong one.",
    headers: { "WWW-Authenticate": "Challenge" },
  },
  Throttled: {
    status: 429,
    code: "operator-throttled",
    description: "Too many wrong tokens from this address.",
    headers: { "Retry-After": "RetryAfter" },
  },
  Forbidden: {
    status: 403,
    code: "operator-forbidden",
    description: "This operator may only read, or another site has made the browser send it.",
    headers: {},
  },
  Invalid: {
    status: 400,
    code: "operator-request-invalid",
    description: "The request is invalid; detail says what to write.",
    headers: {},
  },
  NoRecord: { status: 404, code: "record-not-found", description: "No such record, or no body is kept.", headers: {} },
  Refused: {
    status: 409,
    code: "change-refused",
    description:
      "An attempt may be running until its lock ends (retryable, with Retry-After), or the record is completed or remembered (not retryable).",
    headers: { "Retry-After": "RetryAfterIfRetryable" },
  },
  TooLarge: { status: 413, code: "body-too-large", description: "The request's body is too large.", headers: {} },
  Unavailable: {
    status: 503,
    code: ["store-unavailable", "audit-unavailable"],
    description:
      "A shard, or Access's keys, cannot be reached; or the audit log cannot be written, so that nothing was changed and no body was read.",
    headers: { "Retry-After": "RetryAfter" },
  },
} as const;

export type ProblemName = keyof typeof PROBLEMS;

export function mergedParts<T>(parts: readonly Readonly<Record<string, T>>[]): Readonly<Record<string, T>> {
  return Object.fromEntries(parts.flatMap((part) => Object.entries(part)));
}

/** `schemas`: those of the frame and of the features, converted. */
export function openApiComponents(schemas: OpenApiJson, features: readonly OpenApiFeature[]): OpenApiJson {
  return {
    securitySchemes: {
      admin: {
        type: "http",
        scheme: "bearer",
        description: "The secret ADMIN_TOKEN, or an administrator's of OPERATORS: reads and changes.",
      },
      reader: {
        type: "http",
        scheme: "bearer",
        description: "The secret READ_TOKEN, or a reader's of OPERATORS: reads, but no stored bodies.",
      },
    },
    parameters: {
      Id: { name: "id", in: "path", required: true, schema: { type: "string", pattern: RECORD_ID.source } },
      ...mergedParts(features.map(({ parameters = {} }) => parameters)),
    },
    headers: {
      NoStore: { required: true, schema: { const: "no-store" } },
      RetryAfterIfRetryable: {
        required: false,
        description: "Seconds until the lock that is in the way ends.",
        schema: { type: "string", pattern: "^[0-9]+$" },
      },
      RetryAfter: { required: true, description: "Seconds.", schema: { type: "string", pattern: "^[0-9]+$" } },
      Challenge: { required: true, schema: { const: "Bearer" } },
    },
    responses: Object.fromEntries(Object.entries(PROBLEMS).map(([name, problem]) => [name, problemResponse(problem)])),
    schemas,
  };
}

function problemResponse({ code, description, headers }: (typeof PROBLEMS)[ProblemName]): OpenApiJson {
  const schema = { allOf: [schemaRef("Problem"), { properties: { code: { enum: [code].flat() } } }] };
  return { description, headers: describeHeaders(headers), content: { "application/problem+json": { schema } } };
}

/** No cache may store an answer of the API. */
export function describeHeaders(headers: Readonly<Record<string, string>>): OpenApiJson {
  const all = { "Cache-Control": "NoStore", ...headers };
  return Object.fromEntries(
    Object.entries(all).map(([name, component]) => [name, { $ref: `#/components/headers/${component}` }]),
  );
}

export function schemaRef(name: string): OpenApiJson {
  return { $ref: `#/components/schemas/${name}` };
}

export function queryParameter(name: string, schema: OpenApiJson, description: string): OpenApiJson {
  return { name, in: "query", description, schema };
}

/** What the document says of a parameter, besides what the Worker's schema of it says. */
export interface ParameterText {
  readonly description: string;
  /** Examples; or, with a type, what its text stands for. */
  readonly schema?: OpenApiJson;
}

/** The parameters of a list, as the Worker parses them. */
export function queryParameters<Entries extends QueryEntries>(
  entries: Entries,
  texts: { readonly [Name in keyof Entries]: ParameterText },
): readonly OpenApiJson[] {
  return Object.entries(entries).map(([name, { wrapped }]) => {
    const { description, schema } = texts[name] ?? { description: "" };
    const { $schema: _, ...own } = toJsonSchema(wrapped, { typeMode: "input", errorMode: "ignore" });
    return queryParameter(name, schema?.["type"] === undefined ? { ...own, ...schema } : schema, description);
  });
}

const { defaultLimit, maxLimit } = LIST_LIMITS;

export const LIMIT_SCHEMA: OpenApiJson = { type: "integer", minimum: 1, maximum: maxLimit, default: defaultLimit };

/** What pages say of `limit` and `cursor`. `most`: what a page has at most so many of. */
export function pageTexts(most: string): Readonly<Record<"limit" | "cursor", ParameterText>> {
  return {
    limit: { description: `How many ${most} a page has at most.`, schema: LIMIT_SCHEMA },
    cursor: {
      description:
        "From an answer with the same filter: cursor for the next page, previous for the one before; or `last` for the last page, which has the oldest.",
    },
  };
}
