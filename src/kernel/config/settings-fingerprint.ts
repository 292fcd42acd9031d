// Settings for the fingerprint, which tells a retry from a reuse of the key: what of the body, the query and the headers counts.
// Checks single members, and those that exclude each other within the table.

import * as v from "valibot";

import {
  choiceSetting,
  defaultsOf,
  headerNames,
  lowerCase,
  parsedSetting,
  repeatedEntry,
  settingOf,
  type TextsOf,
} from "./setting-kinds.ts";
import { firstRepeated, parsePointer, parseQueryName, POINTER_PATTERN } from "./values.ts";
import { BODY_FORMS, type BodyForm, QUERY_FORMS, type QueryForm } from "./words.ts";

/** What a change of any of these settings does. */
export const CHANGES_FINGERPRINTS = "**makes retries of older keys look like reuse: 422**";

/** Each is looked for in every body of the route. */
const MAX_POINTERS = 32;

const POINTERS_MESSAGE = 'must be a list of JSON pointers: write ["/timestamp"]';
const NAMES_MESSAGE = 'must be a list of names: write ["timestamp"]';
const TOO_MANY = `must have at most ${MAX_POINTERS} entries: write pointers to what is above them`;

/** JSON pointers, of which none is above another. */
function pointerList(least: 0 | 1) {
  const pointer = v.pipe(
    v.string('must be text: write "/timestamp"'),
    v.metadata({ pattern: POINTER_PATTERN, examples: ["/timestamp", "/items/0/nonce"] }),
    parsedSetting(parsePointer),
  );
  return v.pipe(
    v.array(pointer, POINTERS_MESSAGE),
    v.metadata({ minItems: least, maxItems: MAX_POINTERS, takes: "a list of JSON pointers (RFC 6901)" }),
    v.minLength(least, 'must name what is compared: write ["/amount", "/currency"], or leave it out to compare all'),
    v.maxLength(MAX_POINTERS, TOO_MANY),
    v.check((list) => firstRepeated(list) === null, repeatedEntry),
    v.check(
      (list) => firstBelow(list) === null,
      ({ input }) => {
        const below = firstBelow(input);
        return `lists "${below?.[0]}" and, below it, "${below?.[1]}": leave out one of them`;
      },
    ),
  );
}

/** The first pair of pointers of which one is above the other. */
function firstBelow(list: readonly string[]): readonly [above: string, below: string] | null {
  for (const above of list) {
    const below = list.find((one) => one.startsWith(`${above}/`));
    if (below !== undefined) return [above, below];
  }
  return null;
}

/** Members of `fingerprint`. One that is left out has its built-in default. */
export const fingerprintEntries = {
  body: settingOf(choiceSetting(BODY_FORMS), "bytes"),
  except: settingOf(pointerList(0), []),
  only: settingOf(pointerList(1)),
  query: settingOf(choiceSetting(QUERY_FORMS), "exact"),
  query_except: settingOf(
    v.pipe(
      v.array(v.pipe(v.string('must be text: write "timestamp"'), parsedSetting(parseQueryName)), NAMES_MESSAGE),
      v.metadata({ maxItems: MAX_POINTERS, takes: "a list of names" }),
      v.maxLength(MAX_POINTERS, `must have at most ${MAX_POINTERS} entries: write query = "none"`),
      v.check((list) => firstRepeated(list) === null, repeatedEntry),
    ),
    [],
  ),
  headers: settingOf(headerNames(lowerCase), []),
};

export const fingerprintTexts: TextsOf<typeof fingerprintEntries> = {
  body: {
    description:
      'How the body counts: `"bytes"` as it is, `"json"` in its canonical form (RFC 8785), `"form"` as the decoded pairs ' +
      'of a URL-encoded form, `"multipart"` as its parts, whatever their boundary, `"none"` not at all. A body that ' +
      "cannot be read in this form counts as it is, and so does JSON of more than 256 KiB or 1,000 levels; `except` leaves out its values up to 1 MiB.",
    onChange: CHANGES_FINGERPRINTS,
  },
  except: {
    description:
      'What of the body does not count, with `body = "json"` or `"form"`: timestamps, nonces, tokens. **A change there is ' +
      "replayed, not refused:** never list what decides the effect, such as `/amount`.",
    onChange: CHANGES_FINGERPRINTS,
  },
  only: {
    description:
      'What of the body counts, instead of all, with `body = "json"` or `"form"`. **A change anywhere else is replayed, ' +
      "not refused.** A body that has nothing at any of these pointers counts as a whole.",
    otherwise: "all of the body",
    onChange: CHANGES_FINGERPRINTS,
  },
  query: {
    description:
      'How the query counts: `"exact"` as it is, `"sorted"` whatever the order of pairs with different names, `"none"` not ' +
      "at all.",
    onChange: CHANGES_FINGERPRINTS,
  },
  query_except: {
    description: "Names of query parameters that do not count. **A change there is replayed, not refused.**",
    onChange: CHANGES_FINGERPRINTS,
  },
  headers: {
    description: 'Request headers that count too. With `body = "multipart"`, the boundary in `content-type` does not.',
    onChange: CHANGES_FINGERPRINTS,
  },
};

/** What applies to a member of `fingerprint` that is left out; `only` has no default. */
export const FINGERPRINT_DEFAULTS = v.parse(
  v.required(v.omit(v.strictObject(fingerprintEntries), ["only"])),
  defaultsOf(fingerprintEntries),
);

/** The members that the checks between them read, as far as they are valid. */
interface Written {
  readonly body?: BodyForm;
  readonly except?: readonly string[];
  readonly only?: readonly string[];
  readonly query?: QueryForm;
  readonly query_except?: readonly string[];
}

interface Conflict {
  readonly member: keyof Written;
  readonly message: string;
}

/** The member at fault, and what to write instead; `null` if all members go together. */
function conflict({ body = "bytes", except = [], only, query, query_except = [] }: Written): Conflict | null {
  if (only !== undefined && except.length > 0) {
    return { member: "only", message: "excludes except: leave out one of them" };
  }
  const member = only !== undefined ? "only" : "except";
  const pointers = only ?? except;
  if (pointers.length > 0 && body !== "json" && body !== "form") {
    return { member, message: `has no effect with body = "${body}": write body = "json" or "form", or leave it out` };
  }
  const deep = body === "form" ? pointers.find((pointer) => pointer.lastIndexOf("/") > 0) : undefined;
  if (deep !== undefined) {
    const name = deep.slice(1).replaceAll("/", "~1");
    return {
      member,
      message: `"${deep}" has two levels, and a form has one: write "/${name}" for a field of that name`,
    };
  }
  if (query === "none" && query_except.length > 0) {
    const message = 'has no effect with query = "none": write query = "exact" or "sorted", or leave it out';
    return { member: "query_except", message };
  }
  return null;
}

const TABLE_MESSAGE = 'must be a table: write { body = "json", headers = ["x-api-version"] }';

export const fingerprintSchema = v.pipe(
  v.strictObject(fingerprintEntries, TABLE_MESSAGE),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const found = conflict(dataset.value);
    if (found === null) return;
    const { member, message } = found;
    addIssue({
      message,
      path: [{ type: "object", origin: "value", input: dataset.value, key: member, value: dataset.value[member] }],
    });
  }),
);
