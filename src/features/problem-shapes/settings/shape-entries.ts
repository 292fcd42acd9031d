// The setting of a route's shape, and the members of `[vars.PROBLEMS.NAME]`, each declared once. `read-shapes.ts` reads them.

import * as v from "valibot";

import { defaultsOf, parsedSetting, settingOf, type TextsOf } from "../../../kernel/config/setting-kinds.ts";
import { type ParsedSetting, refuseValue } from "../../../kernel/config/units.ts";
import { BUILT_IN_SHAPES } from "../built-in-shapes.ts";

/** Problems as the gateway makes them: no shape. */
export const PLAIN = "rfc9457";

export const problemsEntries = {
  problems: settingOf(
    v.pipe(v.string(`must be text: write "${PLAIN}", or "acp"`), v.metadata({ examples: [PLAIN, ...BUILT_IN_SHAPES] })),
    PLAIN,
  ),
};

export const problemsTexts: TextsOf<typeof problemsEntries> = {
  problems: {
    description:
      "The form of the gateway's own errors, for clients of a protocol that has its own ([all of them](../../features/problem-shapes/README.md)). A form may have " +
      "its own status for `key-reused`, which then counts instead of `key_reused_status`.",
    takes:
      'one of `"rfc9457"`, `"acp"`, `"acp-mcp"`, `"ucp"`, `"ucp-mcp"`, `"adcp"`, `"jsonrpc"`, or the name of a table in `PROBLEMS`',
    onChange: "applies at once",
  },
};

const CONTENT_TYPE = "^application/(?:[A-Za-z0-9.-]+\\+)?json$";
const BODY_ADVICE = 'write body = { error = "{code}", message = "{detail}" }';
const CODES_ADVICE = "write codes = { default = { }, key-reused = { status = 409 } }";

export const shapeEntries = {
  body: v.record(v.string(), v.unknown(), `must be a table: ${BODY_ADVICE}`),
  type: settingOf(
    v.pipe(
      v.string('must be text: write type = "application/json"'),
      v.metadata({ pattern: CONTENT_TYPE, examples: ["application/json"] }),
      parsedSetting(parseContentType),
    ),
    "application/json",
  ),
  codes: settingOf(
    v.record(
      v.string(),
      v.record(
        v.string(),
        v.union([v.string(), v.number(), v.boolean()], 'must be text, a number, true or false: write word = "REUSED"'),
        `must be a table: ${CODES_ADVICE}`,
      ),
      `must be a table of tables: ${CODES_ADVICE}`,
    ),
    {},
  ),
};

const { body: _, ...optional } = shapeEntries;
export const optionalShapeEntries = optional;

export const shapeSchema = v.strictObject(shapeEntries);

export type WrittenShape = v.InferOutput<typeof shapeSchema>;

export const SHAPE_DEFAULTS = v.parse(v.required(v.strictObject(optional)), defaultsOf(optional));

export const shapeTexts: TextsOf<typeof shapeEntries> = {
  body: {
    description:
      "What an error's body is. In its texts `{NAME}` stands for a value: alone for the value itself, within a text for its text. `{NAME?}` alone leaves " +
      "its member out where the value is null. Values are `code`, `status`, `title`, `detail`, `retryable`, `retryAfter` (seconds), `instance`, words of " +
      "`codes`, and `json:/POINTER` of the request's body (null if nobody has read it, or over 4 KiB). With a member `jsonrpc` it is a JSON-RPC response, and has HTTP 200.",
    takes: "a table",
    otherwise: "none: every shape needs one",
    onChange: "applies at once",
  },
  type: {
    description: "Its media type.",
    takes: '`"application/json"`, or one that ends with `+json`',
    onChange: "applies at once",
  },
  codes: {
    description:
      "Words for each [code](../../../docs/contract.md), and under `default` for all of them: a word is a value for the body, also instead of one that there is, such as " +
      "`detail`. The word `status` is the HTTP status.",
    takes: "a table of tables",
    onChange: "applies at once",
  },
};

function parseContentType(value: string): ParsedSetting<string> {
  return new RegExp(CONTENT_TYPE).test(value)
    ? { ok: true, value }
    : refuseValue('must be a type of JSON: write "application/json", or one such as "application/problem+json"');
}
