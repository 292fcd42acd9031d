// The form in which a route gives the gateway's own problems to its clients, where it is not that of RFC 9457: plain data. Only a problem's form
// changes with it, never what the gateway does.

import type { ClientProblemCode } from "../record/problem.ts";

/** The problems that have a shape: those of a request to the API. Not those of monitors, operators and consumers. */
export type ShapedCode = Exclude<ClientProblemCode, "configuration-invalid">;

/** Every code, so that a new one has to be decided about. */
const SHAPED: Readonly<Record<ShapedCode, true>> = {
  "key-missing": true,
  "key-invalid": true,
  "request-invalid": true,
  "key-reused": true,
  "too-many-keys": true,
  "in-flight": true,
  "outcome-unknown": true,
  "response-not-kept": true,
  "key-expired": true,
  "key-abandoned": true,
  "repeated-content": true,
  "body-too-large": true,
  "origin-unreachable": true,
  "origin-dropped": true,
  "origin-timeout": true,
  "store-unavailable": true,
  "credential-invalid": true,
  "identity-unavailable": true,
};

export function isShapedCode(code: string): code is ShapedCode {
  return Object.hasOwn(SHAPED, code);
}

export const SHAPED_CODES: readonly ShapedCode[] = Object.keys(SHAPED).filter(isShapedCode);

/** A value that a shape says for itself. */
export type ShapeWord = string | number | boolean | null;

/** Words by their names; `status` is the HTTP status. */
export type ShapeWords = Readonly<Record<string, ShapeWord>>;

/** A body in which placeholders stand for values. */
export type ShapeNode =
  | { readonly kind: "literal"; readonly value: ShapeWord }
  /** The value itself, whatever kind of JSON it is. `isOptional`: its member is left out if it is null. */
  | { readonly kind: "value"; readonly name: string; readonly isOptional: boolean }
  /** Text, with values as text. */
  | { readonly kind: "text"; readonly pieces: readonly (string | { readonly name: string })[] }
  | { readonly kind: "list"; readonly items: readonly ShapeNode[] }
  | { readonly kind: "object"; readonly members: readonly (readonly [name: string, node: ShapeNode])[] }
  /** A string that is the JSON text of a node. */
  | { readonly kind: "json-text"; readonly of: ShapeNode };

export interface ProblemShape {
  /** As `problems` names it. */
  readonly name: string;
  readonly contentType: string;
  readonly body: ShapeNode;
  /** Other bodies, by the `code` that the words say. Absent: none. */
  readonly bodies?: Readonly<Record<string, ShapeNode>>;
  /** By codes, by `CODE.VARIANT`, and `default`. */
  readonly words: Readonly<Record<string, ShapeWords>>;
  /**
   * Whether the body is a JSON-RPC response: clients read it only with HTTP 200. 401 and 413 keep their status, and so does every problem where no `id`
   * could be read.
   */
  readonly isRpc: boolean;
  /** Where the values of the request's body are that problems repeat: JSON pointers. */
  readonly pointers: readonly string[];
}
