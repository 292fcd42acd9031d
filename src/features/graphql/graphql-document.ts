// What a GraphQL document may do when it is executed: whether some operation that may be chosen is a mutation, and which key its
// directive @idempotent gives. What cannot be decided counts as a mutation: one must never pass as something else.

import {
  type DirectiveNode,
  type DocumentNode,
  type OperationDefinitionNode,
  OperationTypeNode,
  type ValueNode,
} from "graphql/language/ast.js";
import { Kind } from "graphql/language/kinds.js";
import { parse } from "graphql/language/parser.js";

/** Where a mutation's key is. */
export type DirectiveKey =
  | { readonly kind: "text"; readonly text: string }
  /** `fallback` is its default, if it has one; `null` if that is no text. */
  | { readonly kind: "variable"; readonly name: string; readonly fallback: string | null | undefined }
  | { readonly kind: "invalid" };

export type DocumentReading =
  | { readonly kind: "other" }
  | { readonly kind: "mutation"; readonly keys: readonly DirectiveKey[] };

/**
 * Larger documents in which a mutation may be are not parsed, because the parser cannot pause: up to these limits the worst of them
 * takes some milliseconds, even the first of a process, whose code is not yet compiled. The second limit is needed beside the first, since one character may be a token.
 */
export const MAX_DOCUMENT_LENGTH = 16 * 1024;
const MAX_TOKENS = 1000;

const UNKNOWN: DocumentReading = { kind: "mutation", keys: [] };

/** `operationNames` are all names by which a server may choose the operation; empty if none is given. */
export function readDocument(document: string, operationNames: readonly string[]): DocumentReading {
  // Some servers take the hash of a document that they know in its place.
  if (!document.includes("{")) return UNKNOWN;
  // The keyword has no other spelling.
  if (!document.includes("mutation")) return { kind: "other" };
  if (document.length > MAX_DOCUMENT_LENGTH) return UNKNOWN;
  const parsed = parsedDocument(document);
  if (parsed === null) return UNKNOWN;
  const operations = parsed.definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION);
  const named = operations.filter(({ name }) => name !== undefined && operationNames.includes(name.value));
  const mutations = (named.length === 0 ? operations : named).filter(
    ({ operation }) => operation === OperationTypeNode.MUTATION,
  );
  if (mutations.length === 0) return { kind: "other" };
  return { kind: "mutation", keys: mutations.flatMap(keysOf) };
}

/** `null` if it is no document, or beyond the parser's limits. */
function parsedDocument(document: string): DocumentNode | null {
  try {
    return parse(document, { noLocation: true, maxTokens: MAX_TOKENS });
  } catch {
    return null;
  }
}

function keysOf(mutation: OperationDefinitionNode): readonly DirectiveKey[] {
  const fields = mutation.selectionSet.selections.filter(({ kind }) => kind === Kind.FIELD);
  return [mutation, ...fields]
    .flatMap(({ directives = [] }) => directives)
    .filter(({ name }) => name.value === "idempotent")
    .map((directive) => keyOf(directive, mutation));
}

function keyOf(directive: DirectiveNode, { variableDefinitions = [] }: OperationDefinitionNode): DirectiveKey {
  const given = directive.arguments?.find(({ name }) => name.value === "key")?.value;
  if (given?.kind !== Kind.VARIABLE) {
    const text = textOf(given);
    return text === null ? { kind: "invalid" } : { kind: "text", text };
  }
  const name = given.name.value;
  const fallback = variableDefinitions.find(({ variable }) => variable.name.value === name)?.defaultValue;
  return { kind: "variable", name, fallback: fallback === undefined ? undefined : textOf(fallback) };
}

/** The directive's argument is a string. An ID may be written as a whole number. */
function textOf(value: ValueNode | undefined): string | null {
  return value?.kind === Kind.STRING || value?.kind === Kind.INT ? value.value : null;
}
