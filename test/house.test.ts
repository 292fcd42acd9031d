import { expect, it } from "vitest";
import { allImports, faultOf, faultsIn } from "./house.ts";

it("every import goes the way that src/README.md draws", () => {
  const imports = allImports();
  expect(imports.length).toBeGreaterThan(2000);
  expect(faultsIn(imports)).toEqual([]);
});

it.each([
  ["kernel/record/step.ts", "kernel/store/ledger.ts", "store"],
  ["kernel/record/step.ts", "kernel/verify/verification-request.ts", "verify"],
  ["kernel/store/ledger.ts", "kernel/request/message.ts", "request"],
  ["kernel/object/exchange.ts", "features/claims/object/claims.ts", "claims"],
  ["kernel/object/exchange.ts", "operator/api.ts", "operator"],
  ["kernel/request/key.ts", "cli/look.ts", "cli"],
  ["features/claims/consumer-api.ts", "features/outbox/object/rows.ts", "outbox"],
  ["features/claims/consumer-api.ts", "operator/api.ts", "operator"],
  ["features/claims/object/claims.ts", "features/claims/cli/positions.ts", "features"],
  ["operator/api.ts", "features/claims/operator/positions-api.ts", "claims"],
  ["client/index.ts", "kernel/record/units.ts", "kernel"],
  ["kernel/object/exchange.ts", "kernel/store/ledger.ts", null],
  ["features/queues/consume.ts", "features/outbox/dead-letter.ts", null],
  ["features/queues/consume.ts", "features/outbox/send-events.ts", "outbox"],
  ["features/outbox/dead-letter.ts", "features/queues/consume.ts", "queues"],
  ["features/queues/consume.ts", "features/accepted/monitor.ts", "accepted"],
  ["features/claims/operator/claims-page.tsx", "operator/console/page.tsx", null],
  ["features/claims/cli/positions.ts", "cli/look.ts", null],
  ["cli/program.ts", "features/node.ts", null],
  ["serve/serve.ts", "features/node.ts", "node.ts"],
  ["features/claims/cli/positions.ts", "features/node.ts", "node.ts"],
  ["features/node.ts", "features/claims/cli/node.ts", null],
  ["features/node.ts", "features/claims/consumer-api.ts", "claims"],
  ["features/claims/cli/node.ts", "kernel/node-feature.ts", null],
  ["features/claims/consumer-api.ts", "kernel/node-feature.ts", "kernel"],
  ["kernel/object/exchange.ts", "kernel/node-feature.ts", "kernel"],
  ["kernel/config/read.ts", "features/settings.ts", "settings.ts"],
  ["worker/onceway.ts", "features/settings.ts", null],
  ["features/settings.ts", "features/claims/settings/feature.ts", null],
  ["features/settings.ts", "features/claims/consumer-api.ts", "claims"],
  ["worker/onceway.ts", "features/worker.ts", null],
  ["operator/api.ts", "features/worker.ts", "worker.ts"],
  ["features/worker.ts", "features/claims/worker.ts", null],
  ["features/worker.ts", "features/claims/operator/positions-api.ts", "claims"],
  ["kernel/worker-feature.ts", "operator/operator.ts", null],
  ["cli/write-openapi.ts", "features/openapi.ts", null],
  ["operator/openapi.ts", "features/openapi.ts", "openapi.ts"],
  ["features/openapi.ts", "features/claims/operator/openapi.ts", null],
  ["features/openapi.ts", "features/claims/operator/positions-schema.ts", "claims"],
])("%s and %s: %s", (from, to, fault) => {
  expect(faultOf({ from, to })).toBe(fault);
});

it("says what breaks the order, and which list of features has too many importers", () => {
  const wrong = { from: "kernel/object/exchange.ts", to: "features/claims/object/claims.ts" };
  const commands = ["a", "b", "c", "d"].map((name) => ({ from: `cli/${name}.ts`, to: "features/node.ts" }));
  expect(faultsIn([wrong, ...commands])).toEqual([
    "src/kernel/object/exchange.ts imports src/features/claims/object/claims.ts: it may know nothing of claims",
  ]);
  expect(faultsIn([...commands, { from: "cli/e.ts", to: "features/node.ts" }])).toEqual([
    "src/features/node.ts is imported by 5 files, at most 4 may",
  ]);
});
