// Whether a gateway answers: for a load balancer's or a container's check. It asks for the published policy, which the
// Worker makes from its configuration: no object is touched and no origin called.

/** Longer than a busy gateway takes, shorter than any checker waits. */
const PATIENCE_MS = 2_000;

/** Null when it is well; otherwise what is wrong. `address` is `host:port`. */
export async function unhealthy(address: string): Promise<string | null> {
  try {
    const response = await fetch(`http://${address}/.well-known/idempotency`, {
      redirect: "manual",
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    await response.body?.cancel();
    return response.status === 200 ? null : `answers ${response.status}`;
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return cause instanceof Error ? cause.message : String(cause);
  }
}
