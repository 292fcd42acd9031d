// The claims API (README.md): a token opens one group, and a request becomes one message for each object that keeps some of its
// records. Nothing that a consumer sends becomes a part of a URL or a header.

import { readConsumerTokens } from "./settings/consumer-checks.ts";
import type { ConsumerGroup } from "../../kernel/config/resolved.ts";
import { CLAIM_VERBS, type ClaimVerb } from "../../kernel/record/claim.ts";
import type { Problem } from "../../kernel/record/problem.ts";
import type { Endpoint, RefusalIntent } from "../../kernel/request-feature.ts";
import { ByteBudget } from "../../kernel/request/byte-budget.ts";
import { type AskPosition, type CallClaims, type ClaimAnswer, MAX_RESULTS_BYTES } from "./claim-message.ts";
import { CLIENT_ADDRESS } from "../../kernel/request/client-address.ts";
import { answerUnread, type OwnBodyRules, readOwnBody } from "../../kernel/request/own-body.ts";
import { operatorPathMatcher } from "../../kernel/request/operator-path.ts";
import { problemResponse } from "../../kernel/request/problem-response.ts";
import { unreadOf } from "../../kernel/request/body.ts";
import { bearerToken, TokenAuth, tokenSpotter } from "../../kernel/request/token-auth.ts";
import type { ExchangeReporter } from "../../kernel/traffic/exchange-reporter.ts";
import { MAX_CLAIMS_BYTES, readPartition, readWishes } from "./claim-body.ts";
import { claimRequest, partitionHash } from "./claim-request.ts";

export interface ClaimsPorts {
  readonly callClaims: CallClaims;
  readonly askPosition: AskPosition;
  readonly reporter: Pick<ExchangeReporter, "claimed">;
}

/** The endpoint of consumers, below the configuration's path for them. */
export function claimsEndpoint(path: string, consumers: ConsumerApi): Endpoint {
  const match = operatorPathMatcher(path);
  return {
    tokens: { isTheirs: consumers.isTheirs, refusal: REFUSAL },
    find: (request, url) => {
      switch (match(request.url, url.pathname)) {
        case "plain":
          return {
            kind: "own",
            isAboutRecord: true,
            route: null,
            answer: () => consumers.answer(request, url.pathname),
          };
        case "form":
          return REFUSAL;
        case "none":
          return null;
      }
    },
  };
}

const REFUSAL: RefusalIntent = { kind: "refuse", problem: { code: "consumer-unauthorized" } };

/** How consumers are answered. */
export interface ConsumerApi {
  /** Answers their requests, whose paths begin with `config.consumerPath`. */
  readonly answer: (request: Request, path: string) => Promise<Response>;
  /** Whether a request carries a consumer's token, whatever its path. */
  readonly isTheirs: (headers: Headers) => boolean;
}

const BODY_RULES: OwnBodyRules = {
  limitBytes: MAX_CLAIMS_BYTES,
  budget: new ByteBudget(8 * MAX_CLAIMS_BYTES, 60_000),
  tooLarge: invalid(`The body must have at most ${MAX_CLAIMS_BYTES} bytes: send fewer entries at once.`),
};

/** `env`: the secrets are there. */
export function createClaims(
  basePath: string,
  consumers: readonly ConsumerGroup[],
  env: Readonly<Record<string, unknown>>,
  ports: ClaimsPorts,
): ConsumerApi {
  const { tokens } = readConsumerTokens(env, consumers);
  // One for all groups: with one each, their counts of wrong tokens would tell anybody which groups exist.
  const auth = new TokenAuth(
    consumers.flatMap((consumer) =>
      tokens.filter(({ group }) => group === consumer.group).map(({ token }) => ({ token, opens: consumer })),
    ),
  );
  return {
    isTheirs: tokenSpotter(tokens.map(({ token }) => token)),
    answer: async (request, path) => {
      const [group = "", ...operation] = path.slice(basePath.length + 1).split("/");
      const { headers } = request;
      const address = headers.get(CLIENT_ADDRESS) ?? "local";
      const now = Date.now();
      const opened = await auth.admit(bearerToken(headers.get("authorization")), address, now);
      const isOthers = opened.kind === "admitted" && opened.opened.group !== group;
      const admission = isOthers ? auth.fail(address, now) : opened;
      switch (admission.kind) {
        case "unauthorized":
          return refuseUnread(request, { code: "consumer-unauthorized" });
        case "throttled":
          return refuseUnread(request, { code: "consumer-throttled", retryAfterMs: admission.retryAfterMs });
        case "admitted":
          return answer(request, operation.join("/"), admission.opened, ports);
      }
    },
  };
}

async function answer(
  request: Request,
  operation: string,
  consumer: ConsumerGroup,
  ports: ClaimsPorts,
): Promise<Response> {
  if (operation === "positions") return position(request, consumer, ports);
  const verb = verbOf(operation);
  if (verb === null) return refuseUnread(request, invalid(`There is no operation "${operation}" here.`));
  if (request.method !== "POST") {
    return refuseUnread(request, { code: "request-invalid", reason: "Claims are sent with POST.", allow: ["POST"] });
  }
  const read = await readOwnBody(request, BODY_RULES);
  if (read.kind === "refuse") return answerUnread(refuse(read.problem), read.rest);
  const body = parseJson(read.body.bytes);
  read.body.free();
  const wishes = readWishes(verb, body, {
    maxLockMs: consumer.maxLockMs,
    maxKeyLength: consumer.route.keyFormat.max,
  });
  if (!wishes.ok) return refuse(invalid(wishes.reason));
  const requests = await Promise.all(wishes.wishes.map((wish) => claimRequest(consumer, wish)));
  const answers = await ports.callClaims(consumer.route, requests);
  ports.reporter.claimed(
    consumer.route.path,
    answers.map(({ state }) => state),
  );
  const shown = withinRoom(answers).map((one, at) => {
    if (one.state !== "granted") return one;
    const { state, attempt, lockedForMs } = one;
    return { state, attempt, attemptId: wishes.wishes[at]?.attemptId, lockedForMs };
  });
  return Response.json({ claims: shown }, { headers: { "Cache-Control": "no-store" } });
}

/** Where the group goes on in a partition. */
async function position(request: Request, consumer: ConsumerGroup, ports: ClaimsPorts): Promise<Response> {
  if (request.method !== "GET") {
    return refuseUnread(request, { code: "request-invalid", reason: "A position is read with GET.", allow: ["GET"] });
  }
  const { searchParams } = new URL(request.url);
  const read = readPartition({
    stream: searchParams.get("stream") ?? undefined,
    partition: Number(searchParams.get("partition") ?? "0"),
  });
  if (!read.ok) return refuse(invalid(read.reason));
  const { group, route } = consumer;
  const placedBy = await partitionHash(group, read.partition);
  try {
    const next = await ports.askPosition(route, placedBy, { route: route.path, ...read.partition });
    return Response.json({ ...read.partition, next }, { headers: { "Cache-Control": "no-store" } });
  } catch (error) {
    console.error({ message: "shard unavailable", reason: String(error) });
    return refuse({ code: "store-unavailable" });
  }
}

function verbOf(operation: string): ClaimVerb | null {
  if (operation === "") return "claim";
  return CLAIM_VERBS.find((verb) => verb !== "claim" && verb === operation) ?? null;
}

/** Several objects may have found room for more results together than one answer has. */
function withinRoom(answers: readonly ClaimAnswer[]): readonly ClaimAnswer[] {
  let left = MAX_RESULTS_BYTES;
  return answers.map((one) => {
    if (one.state !== "completed" || one.resultBytes === undefined || !("result" in one)) return one;
    left -= one.resultBytes;
    const { result: _result, ...without } = one;
    const { resultBytes: _bytes, ...whole } = one;
    return left < 0 ? without : whole;
  });
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes));
  } catch {
    return undefined;
  }
}

function invalid(reason: string): Problem {
  return { code: "claim-invalid", reason };
}

function refuse(problem: Problem): Response {
  return problemResponse(problem, null);
}

/** The answer to a request whose body is still to be taken off the wire. */
function refuseUnread(request: Request, problem: Problem): Response | Promise<Response> {
  return answerUnread(refuse(problem), unreadOf(request, request.headers));
}
