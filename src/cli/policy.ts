// The policy that a gateway publishes, as far as `onceway try` uses it: whether there is a gateway at all, and what it
// protects. Asking for it changes nothing.

import * as v from "valibot";

const policySchema = v.object({
  routes: v.array(
    v.object({
      path: v.string(),
      methods: v.array(v.string()),
      notReplayed: v.object({ refused: v.array(v.number()), ambiguous: v.array(v.number()) }),
    }),
  ),
});

export type Policy = v.InferOutput<typeof policySchema>;

/** Null where nobody publishes one, for whatever reason: that alone does not say that there is no gateway. */
export async function fetchPolicy(target: URL, timeoutMs: number): Promise<Policy | null> {
  try {
    const url = new URL("/.well-known/idempotency", target);
    const response = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(timeoutMs) });
    const parsed = v.safeParse(policySchema, await response.json());
    return response.ok && parsed.success ? parsed.output : null;
  } catch {
    return null;
  }
}
