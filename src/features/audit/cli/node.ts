// The audit log in Node: its command.

import type { NodeFeature } from "../../../kernel/node-feature.ts";
import { defineAudit } from "./audit.ts";

export const auditNode: NodeFeature = {
  name: "audit",
  commands: [{ name: "audit", after: "layouts", define: defineAudit }],
};
