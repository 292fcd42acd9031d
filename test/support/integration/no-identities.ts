// For apps without identities: whoever asks for one has made a mistake.

import { Identities } from "../../../src/features/identities/identity.ts";

export function noIdentities(): Identities {
  const unexpected = (): never => {
    throw new Error("no identity is configured");
  };
  return new Identities({ network: { fetch: unexpected }, target: unexpected, waitUntil: unexpected });
}
