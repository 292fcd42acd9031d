// What a protected operation's description lacks: the header of its key, the gateway's problems and statuses, and the headers of its
// answers. As the actions of an OpenAPI Overlay; what the description has already stays as it is.

import type { Route } from "../kernel/config/resolved.ts";
import { formatDuration } from "../kernel/config/units.ts";
import {
  findOperations,
  type DescriptionMembers,
  membersAt,
  membersOf,
  type ProtectedOperation,
  stepsOf,
} from "./openapi-operations.ts";

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };
export type JsonObject = { readonly [name: string]: Json };

/** One action: what is merged into the object at a place. */
export interface DescriptionAddition {
  readonly at: readonly string[];
  readonly update: JsonObject;
}

export interface DescriptionAdditions {
  readonly additions: readonly DescriptionAddition[];
  /** What could not be added, and which routes protect nothing here; for the user. */
  readonly notes: readonly string[];
  readonly operationCount: number;
}

export function additionsTo(description: DescriptionMembers, routes: readonly Route[]): DescriptionAdditions {
  const { operations, idle, notes: unread } = findOperations(description, routes);
  const notes = [...unread];
  notes.push(...idle.map(({ path, methods }) => `route ${path} (${methods.join(", ")}) protects no operation here`));
  if (operations.length === 0) return { additions: [], notes, operationCount: 0 };
  const changes = operations.map((one) => operationUpdate(one, description, notes));
  const ofOperations = operations.map(({ at }, index) => ({ at, update: changes[index] ?? {} }));
  const used = new Set(JSON.stringify(changes).match(/#\/components\/[a-zA-Z]+\/[A-Za-z]+/g));
  return {
    additions: [{ at: [], update: { components: components(used) } }, ...ofOperations],
    notes,
    operationCount: operations.length,
  };
}

function operationUpdate(
  { name: where, route, operation, pathItem }: ProtectedOperation,
  description: DescriptionMembers,
  notes: string[],
): JsonObject {
  const parameters = keyParameters(route).filter(
    ({ name }) => ![operation, pathItem].some((one) => declares(one["parameters"], name, description)),
  );
  const given = membersOf(operation["responses"]);
  const responses: Record<string, JsonObject> = {};
  for (const [status, name] of Object.entries(responsesOf(route))) {
    if (given[status] === undefined) {
      responses[status] = { $ref: `#/components/responses/${name}` };
    } else if (isReference(given[status])) {
      notes.push(`${where}: its ${status} is a $ref, so ${name} was not added to it`);
    } else {
      const content = membersOf(membersOf(given[status])["content"]);
      if (content[PROBLEM_TYPE] === undefined) responses[status] = { content: problemContent() };
      else notes.push(`${where}: its ${status} has ${PROBLEM_TYPE} already, so ${name} was not added to it`);
    }
  }
  for (const [status, one] of Object.entries(given)) {
    if (status.startsWith("2") && !isReference(one))
      responses[status] = { ...responses[status], headers: answerHeaders(route) };
  }
  return { ...(parameters.length === 0 ? {} : { parameters }), responses };
}

function isReference(value: unknown): boolean {
  return membersOf(value)["$ref"] !== undefined;
}

/** Whether a list of parameters has this header, also by reference. */
function declares(parameters: unknown, name: string, description: DescriptionMembers): boolean {
  if (!Array.isArray(parameters)) return false;
  return parameters.some((given: unknown) => {
    const { $ref: reference, ...own } = membersOf(given);
    const one: DescriptionMembers = typeof reference === "string" ? resolve(reference, description) : own;
    return one["in"] === "header" && String(one["name"]).toLowerCase() === name.toLowerCase();
  });
}

/** Of this document; another one's is not read. */
function resolve(reference: string, description: DescriptionMembers): DescriptionMembers {
  const steps = stepsOf(reference);
  return steps === null ? {} : membersAt(description, steps);
}

/**
 * The header, if the key may be in one. It is required only if there is no other place for it. The schema is that of the text on the
 * wire, so the form of the key itself, without its quotes, is said in words.
 */
function keyParameters({ key, keyFrom, keyFormat, rules }: Route): readonly KeyParameter[] {
  const { min, max, pattern } = keyFormat;
  const form = `${min === max ? max : `${min} to ${max}`} visible ASCII characters${pattern === null ? "" : ` that match ${pattern}`}`;
  const description =
    "Names the operation: a retry has the same key, and gets the same answer " +
    `for ${formatDuration(rules.policy.retentionMs)}. A structured-field string ("…"), or the same value without quotes: ${form}.`;
  const headers = keyFrom.filter((source) => source.kind === "header");
  return headers.map(({ name }) => ({
    name,
    in: "header",
    required: key === "required" && keyFrom.length === 1,
    description,
    schema: { type: "string", minLength: min },
  }));
}

type KeyParameter = { readonly name: string; readonly [member: string]: Json };

/** The statuses that the gateway itself may answer with, and the response that describes each. */
function responsesOf({
  key,
  async: accepts,
  newKeys,
  rules,
  maxRequestBodyBytes,
}: Route): Readonly<Record<string, ResponseName>> {
  const reused = String(rules.keyReusedStatus);
  return {
    ...(accepts === "never" ? {} : { "202": "IdempotencyAccepted" as const }),
    "400": key === "required" ? "IdempotencyKeyMissingOrInvalid" : "IdempotencyKeyInvalid",
    "409": reused === "409" ? "IdempotencyConflictOrReuse" : "IdempotencyConflict",
    ...(maxRequestBodyBytes === 0 ? {} : { "413": "IdempotencyBodyTooLarge" as const }),
    ...(reused === "409" ? {} : { [reused]: "IdempotencyKeyReused" as const }),
    ...(newKeys === null ? {} : { "429": "IdempotencyTooManyKeys" as const }),
    "502": "IdempotencyOriginFailed",
    "503": "IdempotencyUnavailable",
    "504": "IdempotencyOriginFailed",
  };
}

const PROBLEM_TYPE = "application/problem+json";

function problemContent(): JsonObject {
  return { [PROBLEM_TYPE]: { schema: { $ref: "#/components/schemas/IdempotencyProblem" } } };
}

const RESPONSES = {
  IdempotencyKeyMissingOrInvalid:
    "The idempotency key is missing or invalid. Nothing was done. (key-missing, key-invalid)",
  IdempotencyKeyInvalid: "The idempotency key is invalid. Nothing was done. (key-invalid)",
  IdempotencyConflict:
    "The first request with this key still runs (in-flight: try again after Retry-After), or its outcome is unknown, or its response was not kept. Nothing was done again. (in-flight, outcome-unknown, response-not-kept, key-expired, key-abandoned, repeated-content)",
  IdempotencyConflictOrReuse:
    "The key was used for another request, or the first request with it still runs, or its outcome is unknown. Nothing was done again. (key-reused, in-flight, outcome-unknown, response-not-kept, key-expired, key-abandoned, repeated-content)",
  IdempotencyBodyTooLarge: "The body is larger than the gateway takes. Nothing was done. (body-too-large)",
  IdempotencyKeyReused: "The key was used for another request. Nothing was done. (key-reused)",
  IdempotencyTooManyKeys: "The caller has begun too many operations. Try again after Retry-After. (too-many-keys)",
  IdempotencyOriginFailed:
    "The application could not be reached, or its answer was lost: `retryable` says whether the same request may be sent again. (origin-unreachable, origin-dropped, origin-timeout)",
  IdempotencyUnavailable:
    "The record of the key cannot be reached. Try again after Retry-After, with the same key. (store-unavailable)",
  IdempotencyAccepted: "Accepted: the result will be at the address in Location.",
} as const;

type ResponseName = keyof typeof RESPONSES;

const ANSWER_HEADERS = {
  "Idempotency-Key": "IdempotencyKey",
  "Idempotency-Status": "IdempotencyStatus",
  "Idempotent-Replayed": "IdempotentReplayed",
  "Idempotency-Expires": "IdempotencyExpires",
} as const;

/** Only where the state of a resource may be the answer. */
const VERIFIED_ANSWER = { "Idempotency-Verified": "IdempotencyVerified" } as const;

function answerHeaders({ verify }: Route): JsonObject {
  const headers = verify?.state === undefined ? ANSWER_HEADERS : { ...ANSWER_HEADERS, ...VERIFIED_ANSWER };
  return Object.fromEntries(
    Object.entries(headers).map(([header, name]) => [header, { $ref: `#/components/headers/${name}` }]),
  );
}

const TEXT: JsonObject = { type: "string" };

const HEADERS: JsonObject = {
  IdempotencyKey: { description: "The key of the request.", schema: TEXT },
  IdempotencyStatus: { description: "What became of the key: first, replayed, attached, accepted.", schema: TEXT },
  IdempotentReplayed: {
    description: "Present, and true, if this is an earlier answer.",
    schema: { type: "string", enum: ["true"] },
  },
  IdempotencyExpires: { description: "Until when the answer is kept: an HTTP date.", schema: TEXT },
  IdempotencyVerified: {
    description:
      "Present if the first answer was lost, and this is what the application said of its result at this time: an HTTP date.",
    schema: TEXT,
  },
};

/** Those that are used: a route's settings decide which. */
function components(used: ReadonlySet<string>): JsonObject {
  const responses = Object.entries(RESPONSES)
    .filter(([name]) => used.has(`#/components/responses/${name}`))
    .map(([name, description]): [string, Json] => [name, response(name, description)]);
  const headers = Object.fromEntries(
    Object.entries(HEADERS).filter(([name]) => used.has(`#/components/headers/${name}`)),
  );
  return {
    schemas: { IdempotencyProblem: PROBLEM },
    responses: Object.fromEntries(responses),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
  };
}

/** The responses that may ask for another try. */
const MAY_BE_LATER = /Conflict|TooManyKeys|OriginFailed|Unavailable/;

function response(name: string, description: string): JsonObject {
  const retryAfter: JsonObject = { description: "Seconds.", schema: { type: "string" } };
  if (name === "IdempotencyAccepted") {
    const location: JsonObject = {
      description: "Where the result will be.",
      schema: { type: "string", format: "uri-reference" },
    };
    return { description, headers: { Location: location, "Retry-After": retryAfter } };
  }
  const headers = MAY_BE_LATER.test(name) ? { headers: { "Retry-After": retryAfter } } : {};
  return { description, ...headers, content: problemContent() };
}

const PROBLEM: JsonObject = {
  type: "object",
  description: "A problem of the idempotency gateway (RFC 9457). Its `type` tells it from the application's own.",
  required: ["type", "title", "status", "detail", "instance", "code", "retryable"],
  properties: {
    type: { type: "string", description: "/.well-known/idempotency#CODE" },
    title: TEXT,
    status: { type: "integer" },
    detail: { type: "string", description: "What happened, and what to do." },
    instance: { type: "string", description: "Names this occurrence, also in the gateway's log." },
    code: TEXT,
    retryable: { type: "boolean", description: "Whether the same request with the same key may be sent again." },
    safeNewKey: {
      type: "boolean",
      description:
        "Whether the operation may be begun anew with another key, if nothing more is sent with this one: it had no effect.",
    },
    monitor: {
      type: "string",
      format: "uri-reference",
      description: "Where to ask what became of the request, if the problem leaves that open.",
    },
  },
};
