// What the budget counts (budget/), by the names that its table uses.

export const BUDGET_COUNTS = [
  "Headers",
  "Request",
  "Response",
  "ReadableStream",
  "stream reader",
  "AbortController",
  "AbortSignal",
  "URL",
  "TextEncoder",
  "TextDecoder",
  "text coding",
  "header access",
  "header iteration",
  "digest",
  "key derivation",
  "key import",
  "encryption",
  "decryption",
  "timer",
  "waitUntil",
  "SQL statement",
  "SQL value",
  "awaited I/O",
  "promise",
  "await",
] as const;

export type BudgetCount = (typeof BUDGET_COUNTS)[number];
