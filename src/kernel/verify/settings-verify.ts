// How `verify` is written: an address with the key in its path, or a table that says what the state of the origin's resources means.

import * as v from "valibot";

import { TOKEN_PATTERN } from "../config/values.ts";
import { parseState, type WrittenState } from "./parse-state.ts";
import {
  parseVerify,
  VERIFY_PATTERN,
  VERIFY_TABLE_ADVICE,
  VERIFY_URL_PATTERN,
  type VerifyRule,
} from "./verify-rule.ts";

const VALUE = { anyOf: [{ type: "string" }, { type: "number" }, { type: "boolean" }] };

/** Says to editors what `parseState` checks. */
const PREDICATE = {
  type: "object",
  minProperties: 1,
  propertyNames: { pattern: "^(?:/.*|header:.+)$" },
  additionalProperties: { anyOf: [{ const: "absent" }, { type: "array", minItems: 1, items: VALUE }] },
};

const DURATION = { type: "string", pattern: "^[0-9]+(?:\\.[0-9]+)?(?:ms|s|m|h|d)$" };

const BODIES = ["resource", "item", "none"];

const ANSWER = {
  anyOf: [
    { enum: BODIES },
    {
      type: "object",
      required: ["body"],
      properties: {
        body: { enum: BODIES },
        status: { type: "integer", minimum: 200, maximum: 299 },
        location: { type: "string", pattern: "^/" },
      },
      additionalProperties: false,
    },
  ],
};

/** A member that is checked by `parseState`. */
function member(form: Readonly<Record<string, unknown>>) {
  return v.exactOptional(v.pipe(v.unknown(), v.metadata(form)));
}

function stateTable() {
  return v.strictObject({
    path: v.pipe(v.string(), v.metadata({ pattern: "^/[^#]*$" })),
    happened: member(PREDICATE),
    not_happened: member(PREDICATE),
    list: member({ type: "string", pattern: "^(?:/.*)?$" }),
    match: member(PREDICATE),
    complete: member(PREDICATE),
    once: member({ type: "boolean" }),
    missing: member({ enum: ["open", "not_happened"] }),
    settle: member(DURATION),
    answer: v.pipe(v.unknown(), v.metadata(ANSWER)),
  });
}

export function verifySchema() {
  const forms = v.union(
    [
      v.pipe(v.string(), v.metadata({ pattern: VERIFY_PATTERN, examples: ["/v1/payments/by-key/{key}"] })),
      v.strictObject({
        url: v.pipe(v.string(), v.metadata({ pattern: VERIFY_URL_PATTERN })),
        headers: v.array(v.pipe(v.string(), v.metadata({ pattern: TOKEN_PATTERN }))),
      }),
      stateTable(),
    ],
    `must be text: write "/v1/payments/by-key/{key}", for another host ${VERIFY_TABLE_ADVICE.slice("write ".length)}, ` +
      'or for the state of a resource { path = "/v1/orders/{path:id}", happened = { "/status" = ["paid"] }, once = true, answer = "resource" }',
  );
  return v.pipe(
    forms,
    v.rawTransform<v.InferOutput<typeof forms>, VerifyRule>(({ dataset, addIssue, NEVER }) => {
      const written = dataset.value;
      if (typeof written === "string" || "url" in written) {
        const result = parseVerify(written);
        if (result.ok) return result.value;
        addIssue({ message: result.message });
        return NEVER;
      }
      const state = parseState(written);
      if (state.ok) return { target: written.path, headers: null, state: state.value };
      addIssue({ message: state.message, ...(state.member === null ? {} : { path: pathTo(written, state.member) }) });
      return NEVER;
    }),
  );
}

function pathTo(input: WrittenState, key: string): [v.ObjectPathItem] {
  return [{ type: "object", origin: "value", input: { ...input }, key, value: Reflect.get(input, key) }];
}
