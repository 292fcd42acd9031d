// The setting `replay_set`: members that a replay has for its own caller. Checks single entries and their relations to each other.

import * as v from "valibot";

import type { ReplaySet } from "../../../kernel/config/resolved.ts";
import { parsedSetting, settingOf, type TextsOf } from "../../../kernel/config/setting-kinds.ts";
import { parsePointer, POINTER_PATTERN, pointerTokens } from "../../../kernel/config/values.ts";

const MAX_SETS = 8;

const ADVICE =
  'write replay_set = [{ at = "/result/structuredContent/replayed", value = true }], or from = "/params/arguments/context" instead of value';

function pointer(example: string) {
  return v.pipe(
    v.string(`must be a JSON pointer: write "${example}"`),
    v.metadata({ pattern: POINTER_PATTERN, examples: [example] }),
    parsedSetting(parsePointer),
  );
}

/** Members of an entry that may be left out: it has one of the two. */
export const setEntries = {
  value: settingOf(
    v.union([v.string(), v.number(), v.boolean()], "must be text, a number, true or false: write value = true"),
  ),
  from: settingOf(pointer("/params/arguments/context")),
};

export const setTexts: TextsOf<typeof setEntries> = {
  value: {
    description: "What every replay has there.",
    takes: "text, a number, `true` or `false`",
    otherwise: "what `from` finds",
    onChange: "applies at once",
  },
  from: {
    description:
      "Where the request that gets the replay has the value. If it has none there, or one of more than 4,096 characters, the member is left out.",
    takes: "a JSON pointer",
    otherwise: "what `value` says",
    onChange: "applies at once",
  },
};

const entry = v.pipe(
  v.strictObject({ at: pointer("/result/structuredContent/replayed"), ...setEntries }, `must be a table: ${ADVICE}`),
  v.check(
    ({ value, from }) => (value === undefined) !== (from === undefined),
    "must have either value or from: write one of the two",
  ),
  v.check(
    ({ at }) => !OWN_MEMBERS.has(pointerTokens(at)[0] ?? ""),
    "must not change id, method or jsonrpc, by which a client finds its response: leave it out",
  ),
);

const OWN_MEMBERS: ReadonlySet<string> = new Set(["id", "method", "jsonrpc"]);

export const replaySetEntries = {
  replay_set: settingOf(
    v.pipe(
      v.array(entry, `must be a list of tables: ${ADVICE}`),
      v.maxLength(MAX_SETS, `must have at most ${MAX_SETS} entries: leave some out`),
      v.check(
        (all) =>
          all.every(({ at }, index) => !all.some((other, its) => its !== index && `${at}/`.startsWith(`${other.at}/`))),
        "must name each member once, and none within another: leave one out",
      ),
    ),
    [],
  ),
};

export const replaySetTexts: TextsOf<typeof replaySetEntries> = {
  replay_set: {
    description:
      "Members of the response that a replay has for its own caller, as JSON pointers: `value` sets one, `from` takes it from the request. Everything else stays byte by byte, " +
      "and the record keeps the first answer. Only with `jsonrpc` ([more](../../features/json-rpc/README.md#a-replay)).",
    takes: "a list of tables with `at` and one of the members below",
    onChange: "applies at once",
  },
};

type ReplaySetSettings = Required<v.InferOutput<v.StrictObjectSchema<typeof replaySetEntries, undefined>>>;

export function replaySetOf({ replay_set: written }: ReplaySetSettings): readonly ReplaySet[] {
  return written.map(({ at, value, from }) =>
    from === undefined ? { at, json: JSON.stringify(value) } : { at, from },
  );
}
