// The built-in shapes against the tables of their protocols: status and body of each problem.

import { describe, expect, it } from "vitest";
import { builtInShape, type BuiltInShape } from "../../../../src/features/problem-shapes/built-in-shapes.ts";
import { shapeProblem } from "../../../../src/features/problem-shapes/worker.ts";
import type { ClientProblem } from "../../../../src/kernel/record/problem.ts";
import { problemResponse } from "../../../../src/kernel/request/problem-response.ts";

const PROBLEMS = {
  keyMissing: { code: "key-missing", ways: "a key" },
  keyInvalid: { code: "key-invalid", reason: "Too long." },
  requestInvalid: { code: "request-invalid", reason: "Twice." },
  notJson: { code: "request-invalid", reason: "No JSON.", isNotJson: true },
  late: { code: "request-invalid", reason: "Slow.", isLate: true },
  keyReused: { code: "key-reused", status: 422 },
  tooManyKeys: { code: "too-many-keys", retryAfterMs: 10_000 },
  inFlight: { code: "in-flight", retryAfterMs: 2500 },
  held: { code: "outcome-unknown", retryAfterMs: null },
  verified: { code: "outcome-unknown", retryAfterMs: 1000 },
  notKept: { code: "response-not-kept", originalStatus: 201 },
  expired: { code: "key-expired", originalStatus: 201 },
  abandoned: { code: "key-abandoned" },
  tooLarge: { code: "body-too-large", limitBytes: 10 },
  unreachable: { code: "origin-unreachable", mayHaveActed: false },
  dropped: { code: "origin-dropped", unknown: "hold", retryAfterMs: 0 },
  timedOut: { code: "origin-timeout", unknown: "retry", retryAfterMs: 1000 },
  store: { code: "store-unavailable" },
  nobody: { code: "credential-invalid", why: "missing" },
  stranger: { code: "credential-invalid", why: "invalid" },
  buyer: { code: "credential-invalid", why: "missing", realm: "https://shop.example/?error=1" },
  identity: { code: "identity-unavailable", retryAfterMs: 1000 },
  profile: { code: "identity-unavailable", retryAfterMs: 1000, isProfile: true },
} as const satisfies Readonly<Record<string, ClientProblem>>;

type ProblemName = keyof typeof PROBLEMS;

const ID = new Map([["/id", '"7"']]);

async function answerOf(
  problem: ProblemName,
  shape: BuiltInShape,
  repeated: ReadonlyMap<string, string> = ID,
): Promise<Response> {
  const built = builtInShape(shape);
  if (built === null) throw new Error(shape);
  return shapeProblem(problemResponse(PROBLEMS[problem], '"k"'), built, repeated);
}

async function bodyOf(...given: Parameters<typeof answerOf>): Promise<unknown> {
  const answer = await answerOf(...given);
  expect(answer.headers.get("content-type")).toBe("application/json");
  return answer.json();
}

describe("acp", () => {
  it.each<[ProblemName, number, string, string]>([
    ["keyMissing", 400, "invalid_request", "idempotency_key_required"],
    ["keyInvalid", 400, "invalid_request", "idempotency_key_invalid"],
    ["requestInvalid", 400, "invalid_request", "request_invalid"],
    ["late", 408, "invalid_request", "request_invalid"],
    ["keyReused", 422, "invalid_request", "idempotency_conflict"],
    ["inFlight", 409, "invalid_request", "idempotency_in_flight"],
    ["held", 409, "processing_error", "outcome_unknown"],
    ["notKept", 409, "processing_error", "response_not_kept"],
    ["expired", 409, "processing_error", "key_expired"],
    ["abandoned", 409, "processing_error", "key_abandoned"],
    ["tooManyKeys", 429, "service_unavailable", "too_many_keys"],
    ["tooLarge", 413, "invalid_request", "body_too_large"],
    ["unreachable", 502, "service_unavailable", "origin_unreachable"],
    ["dropped", 502, "processing_error", "origin_dropped"],
    ["timedOut", 504, "processing_error", "origin_timeout"],
    ["store", 503, "service_unavailable", "store_unavailable"],
    ["identity", 503, "service_unavailable", "identity_unavailable"],
    ["stranger", 401, "invalid_request", "credential_invalid"],
  ])("%s: %i, %s, %s, flat and with nothing else", async (problem, status, type, code) => {
    const answer = await answerOf(problem, "acp");
    expect(answer.status).toBe(status);
    expect(await answer.json()).toEqual({ type, code, message: expect.stringMatching(/^[A-Z].{10,}/) });
  });

  it("has the protocol's texts, word for word (sections 6.1 and 6.4)", async () => {
    expect(await bodyOf("keyMissing", "acp")).toEqual({
      type: "invalid_request",
      code: "idempotency_key_required",
      message: "Idempotency-Key header is required on all POST requests",
    });
    expect(await bodyOf("keyReused", "acp")).toMatchObject({
      message: "Idempotency-Key has already been used with a different request body",
    });
    expect(await bodyOf("inFlight", "acp")).toMatchObject({
      message: "A request with this Idempotency-Key is currently being processed",
    });
  });

  it("over MCP is the data of a JSON-RPC error, with 200", async () => {
    const answer = await answerOf("keyReused", "acp-mcp");
    expect(answer.status).toBe(200);
    const message = "Idempotency-Key has already been used with a different request body";
    const data = { type: "invalid_request", code: "idempotency_conflict", message };
    expect(await answer.json()).toEqual({ jsonrpc: "2.0", id: "7", error: { code: -32000, message, data } });
  });
});

describe("ucp", () => {
  it.each<[ProblemName, number, string]>([
    ["keyMissing", 400, "idempotency_key_required"],
    ["keyInvalid", 400, "idempotency_key_invalid"],
    ["keyReused", 409, "idempotency_conflict"],
    ["inFlight", 409, "idempotency_in_flight"],
    ["held", 409, "outcome_unknown"],
    ["notKept", 409, "response_not_kept"],
    ["expired", 409, "key_expired"],
    ["tooManyKeys", 429, "too_many_keys"],
    ["tooLarge", 413, "body_too_large"],
    ["unreachable", 502, "origin_unreachable"],
    ["store", 503, "store_unavailable"],
    ["identity", 503, "identity_unavailable"],
    ["profile", 424, "profile_unreachable"],
  ])("%s: %i, %s, also over MCP", async (problem, status, code) => {
    const answer = await answerOf(problem, "ucp");
    expect(answer.status).toBe(status);
    const body = await answer.json();
    expect(body).toEqual({ code, content: expect.stringMatching(/^[A-Z].{10,}/) });
    const overMcp = await answerOf(problem, "ucp-mcp");
    expect(overMcp.status).toBe(status);
    expect(await overMcp.json()).toEqual({
      jsonrpc: "2.0",
      id: "7",
      error: {
        code: problem === "profile" ? -32001 : -32000,
        message: expect.any(String),
        data: expect.objectContaining(body),
      },
    });
  });

  it.each(["nobody", "stranger", "buyer"] as const)(
    "has a message for %s, whose account may be linked",
    async (problem) => {
      const content = expect.stringMatching(/^This operation requires|^The credential/);
      const message = { type: "error", code: "identity_required", content, severity: "requires_buyer_review" };
      const error = { code: "identity_required", content, messages: [message] };
      const [answer, overMcp] = [await answerOf(problem, "ucp"), await answerOf(problem, "ucp-mcp")];
      expect([answer.status, await answer.json()]).toEqual([401, error]);
      expect([overMcp.status, await overMcp.json()]).toMatchObject([
        401,
        { id: "7", error: { code: -32000, data: error } },
      ]);
    },
  );

  it("over MCP says when to come again", async () => {
    expect(await bodyOf("inFlight", "ucp-mcp")).toMatchObject({ error: { data: { retry_after: 3 } } });
    expect(await bodyOf("keyReused", "ucp-mcp")).not.toHaveProperty("error.data.retry_after");
  });
});

it.each([
  ["signature-missing", 401, "signature_missing", -32000],
  ["signature-invalid", 401, "signature_invalid", -32000],
  ["key-not-found", 401, "key_not_found", -32000],
  ["digest-invalid", 400, "digest_mismatch", -32600],
  ["algorithm-unsupported", 400, "algorithm_unsupported", -32600],
  ["profile-not-trusted", 403, "profile_not_trusted", -32000],
] as const)("ucp says what is wrong with a signature: %s is %i %s", async (fault, status, code, number) => {
  const [shape, overMcp] = [builtInShape("ucp"), builtInShape("ucp-mcp")];
  if (shape === null || overMcp === null) throw new Error("no shape");
  const signature = { fault, reason: "The signature is wrong." };
  const problem = problemResponse({ code: "credential-invalid", why: "invalid", signature }, null);
  const message = await shapeProblem(problem.clone(), overMcp, new Map());
  const answer = await shapeProblem(problem, shape, new Map());
  expect([answer.status, await answer.json()]).toEqual([status, expect.objectContaining({ code })]);
  expect([message.status, await message.json()]).toMatchObject([status, { error: { code: number, data: { code } } }]);
});

describe("adcp", () => {
  it.each<[ProblemName, string, string]>([
    ["keyMissing", "INVALID_REQUEST", "correctable"],
    ["keyInvalid", "INVALID_REQUEST", "correctable"],
    ["keyReused", "IDEMPOTENCY_CONFLICT", "correctable"],
    ["inFlight", "IDEMPOTENCY_IN_FLIGHT", "transient"],
    ["held", "CONFIGURATION_ERROR", "terminal"],
    ["verified", "SERVICE_UNAVAILABLE", "transient"],
    ["notKept", "CONFIGURATION_ERROR", "terminal"],
    ["expired", "IDEMPOTENCY_EXPIRED", "correctable"],
    ["tooManyKeys", "RATE_LIMITED", "transient"],
    ["unreachable", "SERVICE_UNAVAILABLE", "transient"],
    ["store", "SERVICE_UNAVAILABLE", "transient"],
  ])("%s: a result with isError and %s, %s, in both forms", async (problem, code, recovery) => {
    const answer = await answerOf(problem, "adcp");
    expect(answer.status).toBe(200);
    const body: unknown = await answer.json();
    expect(body).toMatchObject({
      jsonrpc: "2.0",
      id: "7",
      result: { isError: true, structuredContent: { adcp_error: { code, recovery, message: expect.any(String) } } },
    });
    const { content, structuredContent } = Object(body).result;
    expect(content).toEqual([{ type: "text", text: JSON.stringify(structuredContent) }]);
    expect(structuredContent.adcp_error).not.toHaveProperty("field");
  });

  it("echoes the context that was sent, says when to come again, and leaves out what there is not", async () => {
    const context = { trace: "a", of: [1, null] };
    const repeated = new Map([...ID, ["/params/arguments/context", JSON.stringify(context)]]);
    expect(await bodyOf("inFlight", "adcp", repeated)).toMatchObject({
      result: { structuredContent: { adcp_error: { retry_after: 3 }, context } },
    });
    const without = await bodyOf("keyReused", "adcp");
    expect(without).not.toHaveProperty("result.structuredContent.context");
    expect(without).not.toHaveProperty("result.structuredContent.adcp_error.retry_after");
  });

  it("tells a missing credential from a wrong one, with 401", async () => {
    for (const [problem, code] of [
      ["nobody", "AUTH_MISSING"],
      ["buyer", "AUTH_MISSING"],
      ["stranger", "AUTH_INVALID"],
    ] as const) {
      const answer = await answerOf(problem, "adcp");
      expect(answer.status).toBe(401);
      expect(await answer.json()).toMatchObject({ result: { structuredContent: { adcp_error: { code } } } });
    }
  });
});

describe("jsonrpc", () => {
  it.each<[ProblemName, number, number]>([
    ["keyMissing", -32602, 200],
    ["keyInvalid", -32602, 200],
    ["requestInvalid", -32600, 200],
    ["keyReused", 409, 200],
    ["inFlight", 40901, 200],
    ["held", 40902, 200],
    ["notKept", 40903, 200],
    ["expired", 410, 200],
    ["tooManyKeys", 429, 200],
    ["tooLarge", 413, 413],
    ["unreachable", 502, 200],
    ["timedOut", 504, 200],
    ["store", 503, 200],
    ["stranger", 401, 401],
  ])("%s: %i, with %i", async (problem, code, status) => {
    const answer = await answerOf(problem, "jsonrpc");
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({
      jsonrpc: "2.0",
      id: "7",
      error: { code, message: expect.any(String) },
    });
  });

  it("has the problem of RFC 9457 with retryAfter as data", async () => {
    const plain = await problemResponse(PROBLEMS.inFlight, '"k"').json();
    const { error } = Object(await bodyOf("inFlight", "jsonrpc"));
    const { error: _, ...problem } = Object(plain);
    expect(error.data).toEqual({ ...problem, instance: expect.any(String), retryAfter: 3 });
  });

  it("tells a body that is no JSON from a request that is not valid (JSON-RPC 2.0, section 5.1)", async () => {
    const answer = await answerOf("notJson", "jsonrpc", new Map());
    expect([answer.status, await answer.json()]).toMatchObject([400, { id: null, error: { code: -32700 } }]);
  });

  it("keeps the spelling of the id, and answers with the problem's own status and null where none could be read", async () => {
    const answer = await answerOf("inFlight", "jsonrpc", new Map([["/id", "7.0"]]));
    expect(await answer.text()).toContain('"id":7.0');
    for (const repeated of [new Map<string, string>(), new Map([["/id", "null"]])]) {
      const unread = await answerOf("keyMissing", "jsonrpc", repeated);
      expect(unread.status).toBe(400);
      expect(await unread.json()).toMatchObject({ id: null });
      expect((await answerOf("store", "jsonrpc", repeated)).status).toBe(503);
      expect((await answerOf("late", "jsonrpc", repeated)).status).toBe(408);
    }
  });
});

it.each(["acp", "acp-mcp", "ucp", "ucp-mcp", "adcp", "jsonrpc"] as const)(
  "%s leaves all other headers as they are",
  async (shape) => {
    for (const problem of ["inFlight", "stranger", "tooManyKeys", "keyReused"] as const) {
      const before = new Headers(problemResponse(PROBLEMS[problem], '"k"').headers);
      const { headers } = await answerOf(problem, shape);
      before.set("Content-Type", "application/json");
      expect([...headers]).toEqual([...before]);
    }
  },
);
