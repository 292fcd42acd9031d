// The setting `jsonrpc`. Checks single members; `feature.ts` checks the relations to other settings.

import * as v from "valibot";

import type { JsonRpcRule } from "../../../kernel/config/resolved.ts";
import { defaultsOf, repeatedEntry, settingOf, type TextsOf } from "../../../kernel/config/setting-kinds.ts";
import { CHANGES_FINGERPRINTS } from "../../../kernel/config/settings-fingerprint.ts";
import { firstRepeated } from "../../../kernel/config/values.ts";
import { TOOLS_CALL } from "../read-call.ts";
import { replaySetEntries, replaySetOf } from "./replay-set-entries.ts";

const MAX_PATTERNS = 100;
const MAX_NAME_LENGTH = 256;

const ADVICE = 'write true, or { methods = ["tools/call"], tools = ["pay", "refund_*"], optional = ["get_*"] }';

function patterns(example: string, least: 0 | 1) {
  const advice = `must have 1 to ${MAX_NAME_LENGTH} characters, and no space at an end: write "${example}"`;
  const name = v.pipe(
    v.string(`must be text: write "${example}"`),
    v.check((text) => text.trim() === text && text !== "" && text.length <= MAX_NAME_LENGTH, advice),
  );
  return v.pipe(
    v.array(name, `must be a list of names: write ["${example}"]`),
    v.metadata({ minItems: least, maxItems: MAX_PATTERNS, takes: "a list of names, in which `*` is any text" }),
    v.minLength(least, `must have a name: write ["${example}"]`),
    v.maxLength(MAX_PATTERNS, `must have at most ${MAX_PATTERNS} names: write some as one, with a *`),
    v.check((list) => firstRepeated(list) === null, repeatedEntry),
  );
}

/** Members of `jsonrpc`. One that is left out has its default. */
export const callEntries = {
  methods: settingOf(patterns(TOOLS_CALL, 1), [TOOLS_CALL]),
  tools: settingOf(patterns("pay", 0), ["*"]),
  optional: settingOf(patterns("get_*", 0), []),
};

export const callTexts: TextsOf<typeof callEntries> = {
  methods: {
    description: "The methods whose calls are protected.",
    onChange: "applies at once; **calls of a method that is taken out are not protected, and retries act again**",
  },
  tools: {
    description: "Of `tools/call`: the tools whose calls need a key.",
    onChange: "applies at once; **calls of a tool that is taken out are not protected, and retries act again**",
  },
  optional: {
    description:
      "Of `tools/call`: the tools that pass without a key, such as those that only read, and are protected with one. They come before `tools`.",
    onChange: "applies at once",
  },
};

export const jsonRpcEntries = {
  jsonrpc: settingOf(v.union([v.boolean(), v.strictObject(callEntries)], `must be true or a table: ${ADVICE}`), false),
};

export const jsonRpcTexts: TextsOf<typeof jsonRpcEntries> = {
  jsonrpc: {
    description:
      "Whether the route is a JSON-RPC server, such as one of MCP: calls are protected by method and tool, everything else passes, keys may be in the message, and a " +
      "replay has the id of the call that gets it. Routes with the same `path` are alternatives, in their order " +
      "([keys, dangers](../../features/json-rpc/README.md)).",
    takes: "`true`, `false` or a table of the members below",
    onChange: CHANGES_FINGERPRINTS,
  },
};

const ownEntries = { ...jsonRpcEntries, ...replaySetEntries };

export type JsonRpcSettings = Required<v.InferOutput<v.StrictObjectSchema<typeof ownEntries, undefined>>>;

const CALL_DEFAULTS = v.parse(v.required(v.strictObject(callEntries)), defaultsOf(callEntries));

/** `null`: the route is none. */
export function ruleOf(settings: JsonRpcSettings): JsonRpcRule | null {
  const { jsonrpc } = settings;
  if (jsonrpc === false) return null;
  return { ...CALL_DEFAULTS, ...(jsonrpc === true ? null : jsonrpc), replaySet: replaySetOf(settings) };
}
