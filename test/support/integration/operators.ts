// Operators for tests.

import type { OperatorAccess } from "../../../src/kernel/config/operators.ts";
import type { Actor } from "../../../src/operator/access/auth.ts";

export const ADMIN: Actor = { name: "admin", role: "admin", via: "token", address: "192.0.2.1" };

export const TOKENS = { admin: "a".repeat(32), read: "r".repeat(32), ann: "n".repeat(32) };

export const EVERYBODY: OperatorAccess = {
  tokens: [
    { name: "admin", role: "admin", values: [TOKENS.admin] },
    { name: "reader", role: "reader", values: [TOKENS.read] },
    { name: "ann", role: "admin", values: [TOKENS.ann, "o".repeat(32)] },
  ],
  access: null,
};
