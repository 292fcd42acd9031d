// What an answer about the state of a resource, or about a list, says of a lost attempt. Pure and total. Whatever cannot be read in exactly one
// way leaves the outcome open: a "did not happen" that is wrong is a second effect.

import { pointerTokens } from "../config/values.ts";
import {
  findingOfStatus,
  isPlainInPath,
  negativeFinding,
  type FindingEvidence,
  type VerificationCredential,
  type VerificationFinding,
} from "../record/verification-answer.ts";
import { bytesAt, type JsonNode, scanJson } from "../request/json.ts";
import { MAX_ELEMENTS, nodeAt } from "../request/json-pointer.ts";
import type {
  AnswerCondition,
  LiteralValue,
  AnswerPredicate,
  StateAnswer,
  StateTerms,
  StateTest,
} from "./state-rule.ts";

/** A value of the request: its text counts, whether the answer has it as a string or as a number. */
export interface RequestValue {
  readonly text: string;
}

export type StoredValue = LiteralValue | RequestValue;

/** How an answer is judged, with the request's values in their places: plain data, stored with the claim. */
export interface StoredState extends StateTerms {
  readonly test: StateTest<StoredValue>;
}

/** An answer of the origin. `body`: `null` if it is too large to be held, or not needed. */
export interface AnswerOfOrigin {
  readonly status: number;
  readonly header: (name: string) => string | null;
  readonly body: Uint8Array | null;
}

/** What retries get from then on. `bytes`: `null` if only "it took effect" is known. */
export interface StateResponse {
  readonly status: number;
  readonly bytes: Uint8Array | null;
  readonly location: string | null;
}

export interface StateJudgement {
  readonly finding: VerificationFinding;
  readonly saw: FindingEvidence | null;
  /** Only if it happened. */
  readonly response: StateResponse | null;
}

/** Thrown where an answer cannot be judged, and caught in this file. */
class Unreadable extends Error {
  readonly saw: FindingEvidence;

  constructor(at: string, value: string) {
    super(value);
    this.name = "Unreadable";
    this.saw = { at, value };
  }
}

/** Pauses after each slice of its work. */
export function* judgeState(
  state: StoredState,
  credential: VerificationCredential,
  answer: AnswerOfOrigin,
): Generator<undefined, StateJudgement> {
  const { status, header, body } = answer;
  if (status !== 200)
    return open(findingOfStatus(status, credential, header("age"), state.missing), "status", String(status));
  const encoding = header("content-encoding")?.trim().toLowerCase() ?? "identity";
  if (encoding !== "identity") return open("unreadable", "header:content-encoding", short(encoding));
  if (body === null) return open("unreadable", "body", "too large");
  const root = yield* scanJson(body, "searched");
  if (typeof root === "string") return open("unreadable", "body", root);
  try {
    const found =
      state.test.kind === "list" ? judgeList(state.test, root, header) : judgeResource(state.test, root, header);
    const { finding, saw, node } = found;
    if (finding === "not-happened") return { finding: negativeFinding(credential, header("age")), saw, response: null };
    return { finding, saw, response: node === null ? null : responseOf(state.answer, node, root, body) };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { finding: "unreadable", saw: error.saw, response: null };
  }
}

function open(finding: VerificationFinding, at: string, value: string): StateJudgement {
  return { finding, saw: { at, value }, response: null };
}

/** `node`: what happened; otherwise `null`. */
interface Found {
  readonly finding: VerificationFinding;
  readonly saw: FindingEvidence | null;
  readonly node: JsonNode | null;
}

type HeaderOf = AnswerOfOrigin["header"];

function judgeResource(
  { happened, notHappened }: Extract<StateTest<StoredValue>, { readonly kind: "resource" }>,
  root: JsonNode,
  header: HeaderOf,
): Found {
  const yes = happened === null ? "no" : holds(happened, root, header);
  const no = notHappened === null ? "no" : holds(notHappened, root, header);
  const saw = evidenceOf([...(happened ?? []), ...(notHappened ?? [])], root, header);
  if (yes === "yes" && no === "yes") return { finding: "contradictory", saw, node: null };
  if (yes === "yes") return { finding: "happened", saw, node: root };
  // An answer that says what happened in another spelling must not count as one that does not say so.
  if (yes === "near") return { finding: "near-miss", saw, node: null };
  return { finding: no === "yes" ? "not-happened" : "pending", saw, node: null };
}

function judgeList(
  { list, match, complete }: Extract<StateTest<StoredValue>, { readonly kind: "list" }>,
  root: JsonNode,
  header: HeaderOf,
): Found {
  const array = nodeAt(root, list === "" ? [] : pointerTokens(list));
  if (array === null || array === "repeated" || array.kind !== "array") throw new Unreadable(list, "not one array");
  const { elements } = array;
  if (elements.length > MAX_ELEMENTS) throw new Unreadable(list, `more than ${MAX_ELEMENTS} elements`);
  const found = elements.map((element) => ({ element, is: holds(match, element, header) }));
  const exact = found.filter(({ is }) => is === "yes");
  const saw = { at: list, value: `${elements.length} elements, ${exact.length} of this operation` };
  const [one, other] = exact;
  if (other !== undefined) return { finding: "doubled", saw, node: null };
  if (one !== undefined) return { finding: "happened", saw, node: one.element };
  if (found.some(({ is }) => is === "near")) return { finding: "near-miss", saw, node: null };
  const unlike = elements.find((element) => holds(match.filter(isOfRequest), element, header) !== "no");
  if (unlike !== undefined) {
    const others = match.filter((condition) => !isOfRequest(condition));
    return { finding: "pending", saw: evidenceOf(others, unlike, header), node: null };
  }
  if (holds(complete, root, header) !== "yes")
    return { finding: "incomplete", saw: evidenceOf(complete, root, header) ?? saw, node: null };
  // Probably a mistake in the settings: no element could ever match.
  const nowhere = match.find(
    ({ at, oneOf }) => oneOf !== "absent" && !elements.some((element) => isThere(at, element)),
  );
  if (elements.length > 0 && nowhere !== undefined) throw new Unreadable(nowhere.at, "in no element");
  return { finding: "not-happened", saw, node: null };
}

/** Of conditions without a value of the request, such as a status, none tells this operation's element from others. */
function isOfRequest({ oneOf }: AnswerCondition<StoredValue>): boolean {
  return oneOf !== "absent" && oneOf.some((value) => typeof value === "object");
}

function isThere(at: string, node: JsonNode): boolean {
  return nodeAt(node, pointerTokens(at)) !== null;
}

/** `near`: but for how a value is written, such as the case of its letters or the zeros after its point. */
type Holds = "yes" | "near" | "no";

function holds(predicate: AnswerPredicate<StoredValue>, node: JsonNode, header: HeaderOf): Holds {
  // Each of them is looked at, so that an unreadable one is never hidden behind another.
  const all = new Set(predicate.map((condition) => holdsOne(condition, node, header)));
  if (all.has("no")) return "no";
  return all.has("near") ? "near" : "yes";
}

function holdsOne({ at, oneOf }: AnswerCondition<StoredValue>, node: JsonNode, header: HeaderOf): Holds {
  const seen = seenAt(at, node, header);
  if (oneOf === "absent") return seen === null ? "yes" : "no";
  if (seen === null) return "no";
  const all = new Set(oneOf.map((value) => compare(value, seen, at)));
  if (all.has("yes")) return "yes";
  return all.has("near") ? "near" : "no";
}

/** A value of an answer. `text` is canonical for a number. */
interface Seen {
  readonly kind: "string" | "number" | "boolean";
  readonly text: string;
}

/** `null`: nothing is there, or JSON's `null`. */
function seenAt(at: string, node: JsonNode, header: HeaderOf): Seen | null {
  if (at.startsWith("header:")) {
    const text = header(at.slice("header:".length));
    return text === null ? null : { kind: "string", text };
  }
  const found = nodeAt(node, pointerTokens(at));
  if (found === null) return null;
  if (found === "repeated") throw new Unreadable(at, "there twice");
  switch (found.kind) {
    case "string":
      return { kind: "string", text: found.text };
    case "literal":
      return found.text === "null" ? null : { kind: "boolean", text: found.text };
    case "number":
      // Whole numbers without an exponent are exact in any reader that keeps them at all.
      if (found.canonical === null && !/^-?\d+$/.test(found.text))
        throw new Unreadable(at, "a number that not all programs read alike");
      return { kind: "number", text: found.canonical ?? found.text };
    case "array":
    case "object":
      throw new Unreadable(at, `an ${found.kind}`);
  }
}

const ETAG = "header:etag";

/** RFC 9110, section 8.8.3: one strong entity tag. A weak one, a list and `*` are equal to nothing. */
export function isStrongTag(text: string): boolean {
  return /^"[\x21\x23-\x7e\x80-\xff]*"$/.test(text);
}

function compare(value: StoredValue, seen: Seen, at: string): Holds {
  const text = typeof value === "object" ? value.text : String(value);
  if (at === ETAG) return text === seen.text && isStrongTag(text) ? "yes" : "no";
  const isKind = typeof value === "object" ? seen.kind !== "boolean" : typeof value === seen.kind;
  if (isKind && text === seen.text) return "yes";
  return loose(text) === loose(seen.text) || (seen.kind === "number" && isRounded(text, seen.text)) ? "near" : "no";
}

/** Whether a reader that takes both for doubles takes them for one number. */
function isRounded(one: string, other: string): boolean {
  return Math.max(one.length, other.length) <= MAX_NUMBER_LENGTH && one.trim() !== "" && Number(one) === Number(other);
}

/** Longer texts are no numbers. It also bounds the time that the expression takes. */
const MAX_NUMBER_LENGTH = 64;

/** The same for texts that differ only in case, in spaces, in how Unicode composes them, or in the zeros of a number. */
function loose(text: string): string {
  const plain = text.normalize("NFKC").replaceAll(/\s+/g, "").toUpperCase();
  if (plain.length > MAX_NUMBER_LENGTH) return plain;
  const [, sign, whole, fraction] = /^([+-]?)0*(\d+?)(?:\.(\d*?)0*)?$/.exec(plain) ?? [];
  if (whole === undefined) return plain;
  return `${sign === "-" ? "-" : ""}${whole}${fraction === undefined || fraction === "" ? "" : `.${fraction}`}`;
}

/** The longest value that is shown to operators. */
const SHOWN_LENGTH = 64;

function short(text: string): string {
  return text.length <= SHOWN_LENGTH ? text : `${text.slice(0, SHOWN_LENGTH - 1)}…`;
}

/** The first place that the conditions name, and what is there. */
function evidenceOf([first]: AnswerPredicate<StoredValue>, root: JsonNode, header: HeaderOf): FindingEvidence | null {
  if (first === undefined) return null;
  const seen = seenAt(first.at, root, header);
  return {
    at: first.at,
    value: seen === null ? "absent" : short(seen.kind === "string" ? JSON.stringify(seen.text) : seen.text),
  };
}

function responseOf(
  { body: what, status, location }: StateAnswer,
  node: JsonNode,
  root: JsonNode,
  body: Uint8Array,
): StateResponse {
  if (what === "none") return { status, bytes: null, location: null };
  const span = "span" in node ? node.span : undefined;
  // A number or a text has no span of its own; only containers can be matched.
  const bytes = node === root ? body : span === undefined ? null : bytesAt(body, span);
  return { status, bytes, location: location === null ? null : locationOf(location, node) };
}

/** `null`: a value of it is not there, or not plain in a path. */
function locationOf(template: string, node: JsonNode): string | null {
  const texts: string[] = [];
  for (const [index, piece] of template.split(/[{}]/).entries()) {
    const text = index % 2 === 0 ? piece : valueInPath(piece, node);
    if (text === null) return null;
    texts.push(text);
  }
  return texts.join("");
}

function valueInPath(pointer: string, node: JsonNode): string | null {
  const seen = nodeAt(node, pointerTokens(pointer));
  if (seen === null || seen === "repeated" || (seen.kind !== "string" && seen.kind !== "number")) return null;
  const { text } = seen;
  const isSafe = text !== "" && text.length <= 1024 && text.isWellFormed() && isPlainInPath(text);
  return isSafe ? encodeURIComponent(text) : null;
}
