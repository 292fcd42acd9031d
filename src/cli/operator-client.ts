// Calls the operator API of a gateway: one method for each call, with checked answers. Every error becomes a Failure that says
// what to do. The token is sent only to the named gateway: redirects are not followed.

import * as v from "valibot";

import { unreachedTarget } from "../conformance/unreachable.ts";
import { parseJsonText } from "./arguments.ts";
import {
  endedSchema,
  type layoutSchema,
  layoutsSchema,
  problemSchema,
  recentSchema,
} from "../operator/gateway-schema.ts";
import { forgottenSchema, previewSchema } from "../operator/change-schema.ts";
import type { RecordAction } from "../operator/record-actions/action.ts";
import { recordPageSchema, recordSchema } from "../operator/record-schema.ts";
import type { DocumentedAction } from "../operator/schema-members.ts";
import { printableText } from "./look.ts";
import { MAX_FILE_BYTES, piecesOf, textOf } from "./read-answer.ts";
import { CommandFailure, EXIT_REFUSED, EXIT_UNUSABLE } from "./exit-codes.ts";

// What the gateway answers. A newer gateway's unknown words pass, and its unknown members are left out.
export type ShownRecords = v.InferOutput<typeof recordPageSchema>;
export type ShownSummary = ShownRecords["records"][number];
export type ShownRecord = v.InferOutput<typeof recordSchema>;
export type ShownEvent = ShownRecord["timeline"][number];
export type ShownExchanges = v.InferOutput<typeof recentSchema>;
export type ShownExchange = ShownExchanges["exchanges"][number];
export type LayoutList = v.InferOutput<typeof layoutsSchema>;
export type LayoutState = v.InferOutput<typeof layoutSchema>;
export type ShownPreview = v.InferOutput<typeof previewSchema>["preview"];

/** All that the commands show of a refusal. */
const refusalSchema = v.object({ code: problemSchema.entries.code, detail: problemSchema.entries.detail });

/** Below the gateway's URL, unless the URL has its own path (`OPERATOR_API.path`). */
const DEFAULT_PATH = "/_onceway";
const TIMEOUT_MS = 30_000;
/** A body or an export may be long. */
const FILE_MS = 600_000;

/** The gateway's own refusal. */
export class GatewayRefusal extends CommandFailure {
  /** Whether the same call may succeed later: throttled, or a shard cannot be reached. */
  readonly isTemporary: boolean;

  constructor(exitCode: CommandFailure["exitCode"], message: string, status: number) {
    super(exitCode, message);
    this.isTemporary = status === 429 || status >= 500;
  }
}

/** Conditions on records, by the names that options and the API have for them. */
export interface RecordConditions {
  readonly state?: readonly string[];
  readonly route?: string;
  /** When the last attempt started: a time, or a duration ago ("5m"). */
  readonly since?: string;
  readonly until?: string;
  readonly caller?: string;
  readonly status?: string;
  readonly key?: string;
  /** The first digits of the id. */
  readonly id?: string;
}

const CONDITIONS = ["state", "route", "since", "until", "caller", "status", "key", "id"] as const;

export interface ResolvedResponse {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer;
}

/** An action on a record, as it is asked for. */
export interface AskedOfRecord {
  readonly action: Pick<RecordAction, "name" | "why" | "takesResponse">;
  readonly why: string;
  readonly response?: ResolvedResponse;
  /** Nothing is changed. */
  readonly isPreview: boolean;
}

export interface ActionAnswer {
  /** As the API gave it. */
  readonly answer: object;
  /** `null`: there is none any more. */
  readonly record: ShownRecord | null;
  /** What retries would get. */
  readonly preview: ShownPreview | null;
}

/** The body of an action, as a client writes it. */
export type WrittenBody<Action> =
  Action extends DocumentedAction<infer Entries> ? v.InferInput<v.StrictObjectSchema<Entries, undefined>> : never;

export interface OperatorClient {
  /** One page; continue with its cursor until that is null. Even an empty page may have one. */
  list(conditions: RecordConditions, limit: number, cursor: string | null): Promise<ShownRecords>;
  record(id: string): Promise<ShownRecord>;
  /** The stored response's bytes, as they come. */
  body(id: string): Promise<AsyncIterable<Uint8Array>>;
  act(id: string, asked: AskedOfRecord): Promise<ActionAnswer>;
  /** `isAll`: also objects that no client has used. */
  layouts(isAll?: boolean): Promise<LayoutList>;
  /** Ends every session of the console. */
  endSessions(): Promise<void>;
  /** The exchanges after the cursor; with null, all that the gateway remembers. */
  recent(after: string | null, signal?: AbortSignal): Promise<ShownExchanges>;
  /** An action that a feature declares. */
  perform<Entries extends v.ObjectEntries, Answer extends v.GenericSchema>(
    action: DocumentedAction<Entries, Answer>,
    asked: v.InferInput<v.StrictObjectSchema<Entries, undefined>>,
    timeoutMs?: number,
  ): Promise<v.InferOutput<Answer>>;
  /** Any other call, such as a feature's: its answer must be as the schema says. With `change` it is a POST. */
  read<Schema extends v.GenericSchema>(
    schema: Schema,
    path: string,
    change?: object,
    signal?: AbortSignal,
    timeoutMs?: number,
  ): Promise<v.InferOutput<Schema>>;
  /** A long answer, in pieces as they come. */
  pieces(path: string): Promise<AsyncIterable<Uint8Array>>;
}

export function operatorClient(gateway: URL, token: string): OperatorClient {
  const base = `${gateway.origin}${gateway.pathname === "/" ? DEFAULT_PATH : gateway.pathname.replace(/\/+$/, "")}`;

  async function call(path: string, change?: object, signal?: AbortSignal, timeoutMs = TIMEOUT_MS): Promise<Response> {
    let response: Response;
    try {
      response = await fetch(base + path, {
        redirect: "manual",
        signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal === undefined ? [] : [signal])]),
        headers: {
          Authorization: `Bearer ${token}`,
          ...(change === undefined ? {} : { "Content-Type": "application/json" }),
        },
        ...(change === undefined ? {} : { method: "POST", body: JSON.stringify(change) }),
      });
    } catch (error) {
      const { reason, isUnsent } = unreachedTarget(error);
      const isChange = change !== undefined && !("preview" in change && change.preview === true);
      const maybe =
        isChange && !isUnsent ? " The change may have been made all the same: look before you repeat it." : "";
      throw new CommandFailure(
        EXIT_UNUSABLE,
        `${base} cannot be reached (${reason}): check --url, and that the gateway is running.${maybe}`,
      );
    }
    if (!response.ok) throw await refusal(response, base);
    return response;
  }

  async function read<Schema extends v.GenericSchema>(
    schema: Schema,
    path: string,
    change?: object,
    signal?: AbortSignal,
    timeoutMs?: number,
  ): Promise<v.InferOutput<Schema>> {
    const response = await call(path, change, signal, timeoutMs);
    const parsed = v.safeParse(schema, parseJsonText(await textOf(response)));
    if (parsed.success) return parsed.output;
    const [issue] = parsed.issues;
    const where = v.getDotPath(issue) ?? "the whole answer";
    throw new CommandFailure(
      EXIT_UNUSABLE,
      `${base} does not answer as this version of the API (${where}: ${issue.message}). Check --url; if it names a ` +
        "gateway, use the command line of the gateway's version.",
    );
  }

  const pieces = async (path: string): Promise<AsyncIterable<Uint8Array>> =>
    piecesOf(await call(path, undefined, undefined, FILE_MS), MAX_FILE_BYTES);

  return {
    read,
    pieces,
    list: (conditions, limit, cursor) =>
      read(recordPageSchema, `/records?${pageQuery(conditionsOf(conditions), limit, cursor)}`),
    record: (id) => read(recordSchema, `/records/${id}`),
    body: (id) => pieces(`/records/${id}/body`),
    async act(id, { action, why, response, isPreview }) {
      const path = `/records/${id}/${action.name}`;
      const step = isPreview ? { preview: true } : action.takesResponse ? { confirm: true } : {};
      const body = { [action.why]: why, ...(response === undefined ? {} : responseMember(response)), ...step };
      const answer = await read(v.union([previewSchema, forgottenSchema, recordSchema]), path, body);
      if ("preview" in answer) return { answer, record: null, preview: answer.preview };
      return { answer, record: "forgotten" in answer ? null : answer, preview: null };
    },
    perform: ({ path, answer }, asked, timeoutMs) => read(answer.schema, path, asked, undefined, timeoutMs),
    layouts: (isAll = false) => read(layoutsSchema, isAll ? "/layouts?all=1" : "/layouts"),
    endSessions: async () => void (await read(endedSchema, "/sessions/end", {})),
    recent: (after, signal) =>
      read(recentSchema, after === null ? "/recent" : `/recent?after=${encodeURIComponent(after)}`, undefined, signal),
  };
}

/** A response that is given, as requests have it. */
export function responseMember({ status, headers, body }: ResolvedResponse) {
  return { response: { status, headers, bodyBase64: body.toString("base64") } };
}

/** The conditions among the options of a command, as the API writes them. */
export function conditionsOf(options: RecordConditions): Readonly<Record<string, string>> {
  const written: Record<string, string> = {};
  for (const name of CONDITIONS) {
    const value = options[name];
    if (value !== undefined) written[name] = typeof value === "string" ? value : value.join(",");
  }
  return written;
}

async function refusal(response: Response, base: string): Promise<CommandFailure> {
  const problem = v.safeParse(refusalSchema, parseJsonText(await textOf(response)));
  const isProblem = response.headers.get("content-type")?.startsWith("application/problem+json") === true;
  if (!isProblem || !problem.success) {
    const advice =
      response.status === 404
        ? 'The API is off unless the secret ADMIN_TOKEN is set ("npx wrangler secret put ADMIN_TOKEN"). Also check --url.'
        : "Check --url: it must name the gateway.";
    return new CommandFailure(EXIT_UNUSABLE, `No operator API at ${base}: it answered ${response.status}. ${advice}`);
  }
  const { code, detail } = problem.output;
  const retryAfter = response.headers.get("retry-after");
  const wait = retryAfter === null ? "" : ` Try again in ${retryAfter} s.`;
  const advice = ADVICE[code] === undefined ? "" : ` ${ADVICE[code]}`;
  // Whatever is asked, it is asked with the wrong token or in the wrong place.
  const exitCode = code === "operator-unauthorized" || code === "operator-not-found" ? EXIT_UNUSABLE : EXIT_REFUSED;
  return new GatewayRefusal(exitCode, printableText(`${code}: ${detail}${wait}${advice}`), response.status);
}

const ADVICE: Readonly<Record<string, string>> = {
  "operator-unauthorized": "Check the token in ONCEWAY_TOKEN or --token-file.",
  "operator-not-found":
    'If there is no operator yet, run "npx wrangler secret put ADMIN_TOKEN" (on this machine, write it into .dev.vars). If there is, ' +
    "check --url: operators may have a port of their own (serve --operator-port), a host (OPERATOR_API.hostname), " +
    "or another path (OPERATOR_API.path, which the URL then has to name).",
  "operator-forbidden": "This needs an administrator's token, such as the gateway's ADMIN_TOKEN.",
};

/** One page of a list: continue with its cursor until that is null. */
export function pageQuery(filter: ListFilter, limit: number, cursor: string | null): string {
  return queryText({ ...filter, limit: String(limit), cursor: cursor ?? undefined });
}

/** Conditions that are undefined are left out. */
export type ListFilter = Readonly<Record<string, string | undefined>>;

export function queryText(filter: ListFilter): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filter)) if (value !== undefined) query.set(name, value);
  return query.toString();
}
