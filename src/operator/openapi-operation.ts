// One operation of the OpenAPI document: who may call it, what it takes, and with which statuses it answers.

import { describeHeaders, type OpenApiJson, type ProblemName, PROBLEMS, schemaRef } from "./openapi-components.ts";
import type { DocumentedAction } from "./schema-members.ts";

export interface ApiOperation {
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  /** Whether it needs ADMIN_TOKEN. */
  readonly isAdmins?: boolean;
  readonly parameters?: readonly OpenApiJson[];
  /** The name of its schema. */
  readonly request?: string;
  readonly answer: { readonly description: string; readonly content: OpenApiJson };
  /** In addition to 401 and 429, which every operation may return. */
  readonly problems?: readonly ProblemName[];
}

export function operationObject(one: ApiOperation): OpenApiJson {
  const { id, summary, description, isAdmins = false, parameters, request, answer: ok, problems = [] } = one;
  const names: readonly ProblemName[] = [...problems, "Unauthorized", "Throttled"];
  const refusals = names.map((name) => [PROBLEMS[name].status, { $ref: `#/components/responses/${name}` }]);
  return {
    operationId: id,
    summary,
    ...(description === undefined ? {} : { description }),
    ...(isAdmins ? { security: [{ admin: [] }] } : {}),
    ...(parameters === undefined ? {} : { parameters }),
    ...(request === undefined ? {} : { requestBody: requestBody(request) }),
    responses: { 200: { ...ok, headers: describeHeaders({}) }, ...Object.fromEntries(refusals) },
  };
}

/** The path and the operation of an action. */
export function actionPath({ path, id, summary, description, request, answer }: DocumentedAction): OpenApiJson {
  const post = operationObject({
    id,
    summary,
    description,
    isAdmins: true,
    request: request.name,
    answer: describedAnswer(answer.description, answer.name),
    problems: ["Invalid", "Forbidden", "TooLarge", "Unavailable"],
  });
  return { [path]: { post } };
}

function requestBody(request: string): OpenApiJson {
  return {
    required: true,
    description: "At most 4 MiB.",
    content: { "application/json": { schema: schemaRef(request) } },
  };
}

/** `names`: of schemas. */
export function describedAnswer(description: string, ...names: readonly [string, ...string[]]): ApiOperation["answer"] {
  const [first] = names;
  const schema = names.length === 1 ? schemaRef(first) : { oneOf: names.map(schemaRef) };
  return { description, content: { "application/json": { schema } } };
}
