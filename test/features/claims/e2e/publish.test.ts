// The events of claims while the gateway is killed with SIGKILL on their way (guarantees G11 and G12): each completed claim has one event
// with one id, and a claim that is not completed has none. Read from the receiver's journal, in another process.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import * as v from "valibot";
import { DAY_MS } from "../../../../src/kernel/config/units.ts";
import { checkHistory } from "../../../guarantees/check-history.ts";
import type { ClaimEntry, ClaimWords, HistoryEvent } from "../../../guarantees/history.ts";
import { metaOf } from "../../../guarantees/policy.ts";
import { STEP } from "../../../guarantees/recorders/event-tries.ts";
import { awaitAlarms } from "../../../guarantees/recorders/ledger.ts";
import { type ClaimScene, freshClaim, startClaimScene } from "../../../support/claim-scene.ts";
import { type Hook, startHook } from "../../../support/hook.ts";
import { freePort } from "../../../support/ports.ts";
import { until } from "../../../support/e2e/guarantees-client.ts";

const SECRET = `whsec_${btoa("1".repeat(32))}`;
/** The alarm sends again after 30 seconds what was lost on its way. */
const RELAYED_MS = 90_000;
const BATCH = 5;

type Claim = Pick<ClaimEntry, "key" | "attemptId">;
const claimReplies = v.array(
  v.looseObject({ state: v.string(), attempt: v.exactOptional(v.number()), lockedForMs: v.exactOptional(v.number()) }),
);
const billing = { unknown: "hold", retentionMs: DAY_MS, publishes: ["taken"] } as const;
const history: HistoryEvent[] = [metaOf("claims", { policies: {}, groups: { billing } })];

let folder: string;
let hook: Hook;
let scene: ClaimScene;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "onceway-claim-events-"));
  hook = await startHook({ port: await freePort(), journal: join(folder, "hook.journal"), secrets: [SECRET] });
  scene = await startClaimScene(
    {},
    {
      publish: [{ to: "taken", type: "charged", step: STEP }],
      destinations: [{ name: "taken", url: `${hook.url}/taken`, secret: "HOOK_SECRET" }],
      secrets: { HOOK_SECRET: SECRET },
    },
  );
});
afterAll(async () => {
  await Promise.all([hook.close(), scene.close()]);
  await rm(folder, { recursive: true, force: true });
});

/** Sends a batch until the gateway has answered all of it. */
async function settle(verb: "claim" | "complete", claims: readonly Claim[], state: string): Promise<void> {
  await until(
    () => call(verb, claims),
    (answers) => answers?.every((one) => one.state === state) === true,
    RELAYED_MS,
  );
}

async function call(verb: "claim" | "complete", claims: readonly Claim[]): Promise<readonly ClaimWords[] | null> {
  const sentAt = Date.now();
  const answer = await scene.ask(verb === "claim" ? "billing" : "billing/complete", { claims }).catch(() => null);
  const reported = answer === null || answer.claims.length === 0 ? null : v.parse(claimReplies, answer.claims);
  const entries = claims.map(({ key, attemptId }) => ({ key, attemptId, offset: 0, result: attemptId }));
  history.push({ type: "claim-call", group: "billing", verb, sentAt, endAt: Date.now(), entries, answers: reported });
  return reported;
}

it("publishes each completed claim with one id, and no other, wherever the gateway is killed", async () => {
  let completed = 0;
  for (const step of ["event-arrived", "event-taken", "event-answered"]) {
    const stopped = hook.strike(step, 2);
    const claims = Array.from({ length: BATCH }, () => freshClaim());
    const open = freshClaim();
    await settle("claim", [...claims, open], "granted");
    const done = claims.map(({ key, attemptId }) => ({ key, attemptId, result: attemptId }));
    const settled = settle("complete", done, "settled");
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
  expect(new Set(lines.map(({ subject }) => subject)).size).toBe(completed);
  const look = await awaitAlarms(scene.gateway().stateDir);
  expect(checkHistory([...history, ...lines.flatMap(({ event }) => event ?? []), look])).toEqual([]);
}, 300_000);
