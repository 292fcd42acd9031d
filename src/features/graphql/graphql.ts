// What a request to a GraphQL endpoint asks for (GraphQL over HTTP, and what servers take besides): a JSON object or a batch of them,
// `application/graphql`, a form, a multipart upload, parameters of the URL. A request is a mutation unless all that a server may
// read in it is a query or a subscription.

import { DIRECTIVE } from "../../kernel/config/key-source.ts";
import type { GraphqlReading } from "../../kernel/request-feature.ts";
import { hexText, sha256 } from "../../kernel/request/digest.ts";
import { type FieldValue, findInForm, findInQuery } from "../../kernel/request/form-fields.ts";
import { type DirectiveKey, MAX_DOCUMENT_LENGTH, readDocument } from "./graphql-document.ts";
import { operationsOfUpload } from "./graphql-upload.ts";
import { type HeadersView, STATUS_HEADER } from "../../kernel/request/headers.ts";
import {
  EACH,
  findInJson,
  type FoundValue,
  type JsonPointer,
  type JsonValue,
} from "../../kernel/request/json-pointer.ts";
import {
  ABSENT,
  FORM,
  jsonValue,
  mayBeJson,
  mediaType,
  otherCharset,
  type PartValue,
  bodySlicer,
  usableValue,
  wrongKey,
} from "../../kernel/request/key-places.ts";
import { MAX_VALUE_LENGTH } from "../../kernel/request/key.ts";
import type { WaitingCaller } from "../../kernel/request/time-slicer.ts";

/** One request of perhaps several in a batch. A member that servers may read in two ways is `unclear`. */
interface Operation {
  readonly query: string | null;
  readonly names: readonly string[];
  /** The digest that an automatically persisted query has. */
  readonly hash: string | null;
  readonly isUnclear: boolean;
  readonly variable: (name: string) => Promise<PartValue>;
}

/** A body has at most 1 MiB, and so has a document in it. */
const MAX_LENGTH = 1 << 20;

/** More requests in one batch are not looked at. */
const MAX_BATCH = 100;

/** All directives of a request have one key, so one variable is enough. */
const MAX_VARIABLES = 8;

const SEMICOLON = 0x3b;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const UNCLEAR: GraphqlReading = { kind: "mutation", key: ABSENT };

export async function readGraphql(
  body: Uint8Array,
  headers: HeadersView,
  search: string,
  caller: WaitingCaller | null = null,
): Promise<GraphqlReading> {
  const inUrl = findInQuery(search, FIELDS, MAX_LENGTH, "field");
  // Some servers separate parameters by semicolons.
  if (search.includes(";")) return UNCLEAR;
  const operations = await operationsOf(body, headers, inUrl, caller);
  if (operations === null || operations.length === 0 || operations.length > MAX_BATCH) return UNCLEAR;
  if (operations.length > 1 && inUrl.size > 0) return UNCLEAR;
  const [variables] = textsOf(inUrl, "variables");
  const variableInUrl = variables === undefined ? null : variablesOf(variables, caller);
  const keys: PartValue[] = [];
  let isMutation = false;
  let unpaused = 0;
  for (const operation of operations) {
    const names = [...operation.names, ...textsOf(inUrl, "operationName")];
    const documents = [...(operation.query === null ? [] : [operation.query]), ...textsOf(inUrl, "query")];
    if (documents.length === 0 && operation.hash !== null && !operation.isUnclear) return documentNeeded();
    if (operation.isUnclear || documents.length === 0 || (await isAnothersHash(operation))) isMutation = true;
    for (const document of documents) {
      // The largest that is parsed may cost some milliseconds.
      unpaused += document.length;
      if (unpaused > MAX_DOCUMENT_LENGTH) await bodySlicer.run(pause(), caller);
      if (unpaused > MAX_DOCUMENT_LENGTH) unpaused = document.length;
      const reading = readDocument(document, names);
      if (reading.kind === "other") continue;
      isMutation = true;
      for (const key of reading.keys) keys.push(await valueOf(key, variableInUrl ?? operation.variable));
    }
  }
  return isMutation ? { kind: "mutation", key: oneKey(keys) } : { kind: "other" };
}

/**
 * Only the server knows what a hash stands for. Asks for the document as a server does that does not know it: clients of automatically
 * persisted queries send the document then. Nothing was sent to the origin, so nothing needs a record.
 */
function documentNeeded(): GraphqlReading {
  const error = { message: "PersistedQueryNotFound", extensions: { code: "PERSISTED_QUERY_NOT_FOUND" } };
  const headers = { [STATUS_HEADER]: "ignored", "Cache-Control": "no-store" };
  return { kind: "answered", response: Response.json({ errors: [error] }, { headers }) };
}

function* pause(): Generator<undefined, void> {
  yield;
}

/** In a document, in a form or a URL, and in JSON with the escape that some encoders write. Without an argument it is no directive. */
const DIRECTIVE_TEXT = /(?:@|%40|\\u0040)\s*idempotent\s*(?:\(|%28)/i;

/**
 * What the directive gives in a mutation from which no key was read: a refusal if it is written anywhere, because the client may
 * believe that it has sent a key. A text that quotes it is taken for it: sending that with a key in a header is always possible.
 */
export function unreadDirective(body: Uint8Array, search: string): PartValue {
  return DIRECTIVE_TEXT.test(search) || DIRECTIVE_TEXT.test(decoder.decode(body))
    ? wrongKey(
        DIRECTIVE,
        "gives no key that can be read; write it on the mutation or on one of its fields, or send the key in a header.",
      )
    : ABSENT;
}

/** Whether the document has another hash than it says. A server may run what it knows under that hash. */
async function isAnothersHash({ query, hash }: Operation): Promise<boolean> {
  return query !== null && hash !== null && hexText(await sha256(encoder.encode(query))) !== hash.toLowerCase();
}

/** The names of the parts of a request, in a form or in a URL. Servers know documents under some of them. */
const FIELDS = ["query", "operationName", "variables", "extensions", "id", "documentId", "doc_id"];
const UNCLEAR_FIELDS = ["extensions", "id", "documentId", "doc_id"];

/** `null`: there is no telling. */
async function operationsOf(
  body: Uint8Array,
  headers: HeadersView,
  inUrl: ReadonlyMap<string, FieldValue>,
  caller: WaitingCaller | null,
): Promise<readonly Operation[] | null> {
  if ((headers.get("content-encoding") ?? "identity") !== "identity" || isUnclear(inUrl)) return null;
  if (otherCharset(headers) !== null) return null;
  const type = mediaType(headers);
  if (type === "multipart/form-data") {
    const operations = await operationsOfUpload(body, headers, caller);
    // Only mutations have files, and servers differ in how they read an upload, and which of its fields.
    return operations === null ? null : operationsInJson(encoder.encode(operations), caller, { isUpload: true });
  }
  const isText = type === "application/graphql";
  if (!isText && !mayBeJson(type)) return null;
  const inJson = await operationsInJson(body, caller);
  // Some servers read this type as JSON.
  if (isText) return inJson === null ? [operationOfText(decoder.decode(body))] : null;
  // Some servers read a body without a type as a form.
  if (type !== FORM && (type !== "" || inJson === null)) return inJson;
  const fields = await bodySlicer.run(findInForm(body, FIELDS, MAX_LENGTH, "field"), caller);
  if (isUnclear(fields) || body.includes(SEMICOLON)) return null;
  if (inJson === null) return [operationOfForm(fields, caller)];
  return fields.size === 0 ? inJson : null;
}

function isUnclear(fields: ReadonlyMap<string, FieldValue>): boolean {
  return UNCLEAR_FIELDS.some((name) => fields.has(name)) || [...fields.values()].some(({ kind }) => kind !== "text");
}

function textsOf(fields: ReadonlyMap<string, FieldValue>, name: string): readonly string[] {
  const field = fields.get(name);
  return field?.kind === "text" ? [field.text] : [];
}

function operationOfText(query: string): Operation {
  return { query, names: [], hash: null, isUnclear: false, variable: async () => ABSENT };
}

function operationOfForm(fields: ReadonlyMap<string, FieldValue>, caller: WaitingCaller | null): Operation {
  const [variables = "{}"] = textsOf(fields, "variables");
  const variable = variablesOf(variables, caller);
  return {
    query: textsOf(fields, "query")[0] ?? null,
    names: textsOf(fields, "operationName"),
    hash: null,
    isUnclear: false,
    variable,
  };
}

const MEMBERS = [
  ["query"],
  ["operationName"],
  ["extensions", "persistedQuery", "sha256Hash"],
  ["id"],
  ["documentId"],
  ["doc_id"],
];
const [QUERY, NAME, HASH] = [0, 1, 2];

async function operationsInJson(
  json: Uint8Array,
  caller: WaitingCaller | null,
  { isUpload }: { readonly isUpload: boolean } = { isUpload: false },
): Promise<readonly Operation[] | null> {
  const isBatch = json.find((byte) => byte > 0x20) === 0x5b;
  const root: JsonPointer = isBatch ? [EACH] : [];
  // Without further steps: each element of a batch, whatever it is.
  const pointers: readonly JsonPointer[] = [...MEMBERS.map((names) => [...root, ...names]), ...(isBatch ? [root] : [])];
  const found = await bodySlicer.run(findInJson(json, pointers, MAX_LENGTH, "any case"), caller);
  if (typeof found === "string") return null;
  const elements = isBatch
    ? found.filter(({ pointer }) => pointer === MEMBERS.length).map(({ element }) => element)
    : [0];
  if (elements.length > MAX_BATCH) return null;
  const variableIn = variableReader(json, [...root, "variables"], caller);
  return elements.map((element) => {
    const own = found.filter((one) => one.element === element && one.pointer < MEMBERS.length);
    return operationOf(own, isUpload, (name) => variableIn(name, element));
  });
}

function operationOf(found: readonly FoundValue[], isUpload: boolean, variable: Operation["variable"]): Operation {
  const at = (pointer: number): readonly JsonValue[] =>
    found.filter((one) => one.pointer === pointer && !isNull(one.value)).map(({ value }) => value);
  const text = (pointer: number): string | null => {
    const [value] = at(pointer);
    return value?.kind === "string" ? value.text : null;
  };
  const name = text(NAME);
  const areOthers = found.some(({ pointer, value }) => pointer > HASH && !isNull(value));
  const areTexts = found.every(({ value }) => value.kind === "string" || isNull(value));
  return {
    query: text(QUERY),
    names: name === null ? [] : [name],
    hash: text(HASH),
    isUnclear: isUpload || areOthers || !areTexts,
    variable,
  };
}

function isNull(value: JsonValue): boolean {
  return value.kind === "literal" && value.text === "null";
}

/** Looks variables up, each once for all elements of a batch, because it takes a pass over the whole text. */
function variableReader(
  json: Uint8Array,
  variables: JsonPointer,
  caller: WaitingCaller | null,
): (name: string, element: number) => Promise<PartValue> {
  const found = new Map<string, readonly FoundValue[]>();
  return async (name, element) => {
    if (!found.has(name)) {
      if (found.size === MAX_VARIABLES)
        return wrongKey(DIRECTIVE, `names more than ${MAX_VARIABLES} variables; use one.`);
      const values = await bodySlicer.run(findInJson(json, [[...variables, name]], MAX_VALUE_LENGTH), caller);
      found.set(name, typeof values === "string" ? [] : values);
    }
    const own = (found.get(name) ?? []).filter((one) => one.element === element);
    return jsonValue(
      own.map(({ value }) => value),
      DIRECTIVE,
    );
  };
}

/** The variables of a form or a URL. */
function variablesOf(json: string, caller: WaitingCaller | null): Operation["variable"] {
  const read = variableReader(encoder.encode(json), [], caller);
  return (name) => read(name, 0);
}

async function valueOf(key: DirectiveKey, variable: Operation["variable"]): Promise<PartValue> {
  switch (key.kind) {
    case "text":
      return usableValue(key.text, DIRECTIVE);
    case "invalid":
      return wrongKey(DIRECTIVE, "needs a key that is a text or a variable.");
    case "variable": {
      const value = await variable(key.name);
      if (value.kind !== "absent") return value;
      if (typeof key.fallback === "string") return usableValue(key.fallback, DIRECTIVE);
      return wrongKey(DIRECTIVE, `has the key $${key.name}, which has no value.`);
    }
  }
}

/** All directives of one request have to have the same key, because it has one record. */
function oneKey(keys: readonly PartValue[]): PartValue {
  const [first = ABSENT, ...others] = keys;
  for (const key of keys) if (key.kind === "invalid") return key;
  const areSame = others.every((key) => key.kind === "text" && first.kind === "text" && key.text === first.text);
  return areSame ? first : wrongKey(DIRECTIVE, "is there with different keys; send one key for the whole request.");
}
