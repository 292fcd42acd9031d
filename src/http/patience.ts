// Waiting that ends.

/** What `promise` resolves with, or `null` after `ms`. */
export async function firstOf<T>(promise: Promise<T>, ms: number): Promise<T | null> {
  const { promise: timeUp, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(resolve, ms, null);
  try {
    return await Promise.race([promise, timeUp]);
  } finally {
    clearTimeout(timer);
  }
}
