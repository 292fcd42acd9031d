// What all errors of `onceway/client` have in common: one `instanceof` tells them from the caller's own.

/**
 * The base of all errors of `onceway/client`: `IdempotencyError` of a request, and those of `once`. Invalid options and arguments are a
 * RangeError or TypeError instead.
 */
export abstract class OncewayError extends Error {}
