// The events of claims while the gateway is killed with SIGKILL on their way (guarantees G11 and G12): each completed claim has one event
// with one id, and a claim that is not completed has none. Read from the receiver's journal, in another process.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ClaimScene, freshClaim, startClaimScene } from "../../support/claim-scene.ts";
import { type Hook, startHook } from "../../support/hook.ts";
import { freePort } from "../../support/ports.ts";
import { until } from "../support/guarantees-client.ts";

const SECRET = `whsec_${btoa("1".repeat(32))}`;
/** The alarm sends again after 30 seconds what was lost on its way. */
const RELAYED_MS = 90_000;
const BATCH = 5;

let folder: string;
let hook: Hook;
let scene: ClaimScene;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "onceway-claim-events-"));
  hook = await startHook({ port: await freePort(), journal: join(folder, "hook.journal"), secrets: [SECRET] });
  scene = await startClaimScene(
    {},
    {
      publish: [{ to: "ledger", type: "charged" }],
      destinations: [{ name: "ledger", url: `${hook.url}/taken`, secret: "HOOK_SECRET" }],
      secrets: { HOOK_SECRET: SECRET },
    },
  );
});
afterAll(async () => {
  await Promise.all([hook.close(), scene.close()]);
  await rm(folder, { recursive: true, force: true });
});

/** Sends a batch until the gateway has answered all of it. */
async function settle(path: string, claims: readonly object[], state: string): Promise<void> {
  await until(
    () => scene.ask(path, { claims }).catch(() => null),
    (answer) => answer !== null && answer.claims.length > 0 && answer.claims.every((one) => one["state"] === state),
    RELAYED_MS,
  );
}

it("publishes each completed claim with one id, and no other, wherever the gateway is killed", async () => {
  let completed = 0;
  for (const step of ["event-arrived", "event-taken", "event-answered"]) {
    const stopped = hook.strike(step, 2);
    const claims = Array.from({ length: BATCH }, () => freshClaim());
    const open = freshClaim();
    await settle("billing", [...claims, open], "granted");
    const done = claims.map(({ key, attemptId }) => ({ key, attemptId, result: { charged: key } }));
    const settled = settle("billing/complete", done, "settled");
    const goOn = await stopped;
    const crashed = scene.crash();
    goOn();
    await Promise.all([crashed, settled]);
    completed += BATCH;
  }
  const lines = await until(
    () => hook.readJournal(),
    (all) => new Set(all.map(({ subject }) => subject)).size >= completed,
    RELAYED_MS,
  );
  const idsOf = Map.groupBy(lines, ({ subject }) => subject);
  expect(idsOf.size).toBe(completed);
  for (const events of idsOf.values()) expect(new Set(events.map(({ id }) => id)).size).toBe(1);
  expect(lines.every(({ verified }) => verified.every(Boolean))).toBe(true);
}, 300_000);
