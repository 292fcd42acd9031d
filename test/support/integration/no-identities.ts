// For apps without identities: whoever asks for one has made a mistake.

import { NO_PROOFS } from "../../../src/kernel/request/scope.ts";
import type { ProveCaller } from "../../../src/kernel/request-feature.ts";

export const noIdentities: ProveCaller = ({ route }) =>
  route.identities.length === 0 ? Promise.resolve(NO_PROOFS) : Promise.reject(new Error("no identity is configured"));
