// Operators of a real gateway with groups of consumers: positions and open claims by the API, the command line and the metrics.

import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { positionPageSchema } from "../../../../src/features/claims/operator/positions-schema.ts";
import { type ClaimScene, freshClaim, OPERATOR_TOKEN, startClaimScene } from "../../../support/claim-scene.ts";
import { type CommandOutcome } from "../../../support/command-line.ts";
import { callOnceway } from "../../../support/command-line-here.ts";

let scene: ClaimScene;
beforeAll(async () => {
  scene = await startClaimScene();
});
afterAll(() => scene.close());

type Page = v.InferOutput<typeof positionPageSchema>;

async function get(path: string, token = OPERATOR_TOKEN): Promise<Response> {
  return fetch(`${scene.gateway().url}/_onceway${path}`, { headers: { authorization: `Bearer ${token}` } });
}

async function page(query = ""): Promise<Page> {
  const response = await get(`/positions${query}`);
  expect(response.status).toBe(200);
  return v.parse(positionPageSchema, await response.json());
}

function onceway(...args: readonly string[]): Promise<CommandOutcome> {
  return callOnceway(args, { ONCEWAY_URL: scene.gateway().url, ONCEWAY_TOKEN: OPERATOR_TOKEN });
}

async function claim(partition: number, offset: number, isCompleted: boolean): Promise<void> {
  const position = { stream: "orders ~ eu", partition, offset };
  const { payloadHash, ...owner } = freshClaim();
  await scene.ask("billing", { claims: [{ ...owner, payloadHash, position }] });
  if (isCompleted) await scene.ask("billing/complete", { claims: [{ ...owner, position }] });
}

// One story: each step goes on where the one before it ended.
describe("the positions of a group", { shuffle: false }, () => {
  it("are listed in all shards, page by page, with what holds them back", async () => {
    expect((await page()).groups).toMatchObject([
      { group: "billing", started: 0, failed: 0, unknown: 0, partitions: 0, heldSince: null },
      { group: "mail" },
    ]);
    for (let partition = 0; partition < 9; partition += 1) {
      await claim(partition, 7, true);
      if (partition < 2) await claim(partition, 8, false);
    }
    const whole = await page();
    expect(whole.cursor).toBeNull();
    expect(whole.positions).toHaveLength(9);
    expect(new Set(whole.positions.map(({ shard }) => shard)).size).toBeGreaterThan(1);
    expect(whole.positions.filter(({ openClaims }) => openClaims === 1)).toHaveLength(2);
    for (const { partition, next, heldSince } of whole.positions) {
      expect(next).toBe(8);
      expect(heldSince === null).toBe(partition >= 2);
    }
    const read: Page["positions"] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const part = await page(`?limit=2${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`);
      expect(part.positions.length).toBeLessThanOrEqual(2);
      read.push(...part.positions);
      ({ cursor } = part);
    }
    expect(read).toEqual(whole.positions);
    expect((await page("?group=mail")).positions).toEqual([]);
    expect((await page("?group=mail")).groups).toMatchObject([{ group: "mail" }]);
  });

  it.each([
    "?group=BILLING",
    "?limit=0",
    "?limit=501",
    "?cursor=x",
    "?cursor=shard-9-of-9~",
    "?stream=a",
    "?limit=1&limit=2",
  ])("refuses %s", async (query) => {
    const response = await get(`/positions${query}`);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("operator-request-invalid");
  });

  it("are the same on the command line, and the metrics count by group alone", async () => {
    const shown = await onceway("claims", "list", "--group", "billing");
    expect(shown).toMatchObject({ code: 0, stderr: "" });
    expect(shown.stdout).toMatch(/^GROUP +STARTED +FAILED +UNKNOWN +PARTITIONS +HELD SINCE\nbilling +2 +0 +0 +9 +\S/);
    expect(shown.stdout).toMatch(/billing +orders ~ eu +0 +8 +1 +\S/);
    const { stdout } = await onceway("claims", "list", "--json", "--limit", "3");
    const [groups, ...positions] = stdout
      .trim()
      .split("\n")
      .map((line): unknown => JSON.parse(line));
    expect(groups).toMatchObject({ groups: [{ group: "billing", started: 2 }, { group: "mail" }] });
    expect(positions).toHaveLength(3);
    expect(await onceway("claims", "list", "--group", "?")).toMatchObject({ code: 2 });
    const open = await onceway(
      "records",
      "list",
      "--route",
      "claims:billing",
      "--state",
      "started,unknown,failed",
      "--json",
    );
    expect(open.stdout.trim().split("\n")).toHaveLength(2);
    const metrics = await (await get("/metrics")).text();
    expect(metrics).toContain('onceway_open_claims{group="billing",state="started"} 2');
    expect(metrics).toContain('onceway_open_claims{group="mail",state="unknown"} 0');
    expect(metrics).toContain('onceway_positions{group="billing"} 9');
    expect(metrics).toMatch(/onceway_position_held_seconds\{group="billing"\} \d/);
    expect(metrics).not.toContain("orders");
  });

  it("wait for a message that nobody claims: that is shown, and set, and the log says by whom", async () => {
    const stream = "audit";
    for (const [offset, previous] of [
      [6, 5],
      [7, 6],
    ] as const) {
      const position = { stream, partition: 0, offset, previous };
      const { payloadHash, ...owner } = freshClaim();
      await scene.ask("billing", { claims: [{ ...owner, payloadHash, position }] });
      await scene.ask("billing/complete", { claims: [{ ...owner, position }] });
    }
    const shown = async (): Promise<unknown> => (await page()).positions.find((one) => one.stream === stream);
    expect(await shown()).toMatchObject({ next: 5, openClaims: 0, heldSince: null, isUnclaimed: true });
    const place = ["--group", "billing", "--stream", stream, "--partition", "0"];
    const dry = await onceway("claims", "set-position", ...place, "--next", "6", "--reason", "x", "--dry-run");
    expect(dry.stdout).toBe("billing goes on at 5 in audit/0, and would go on at 6\n");
    expect(await shown()).toMatchObject({ next: 5 });
    expect(await onceway("claims", "set-position", ...place, "--next", "6")).toMatchObject({ code: 2 });
    expect(
      await onceway("claims", "set-position", ...place, "--next", "6", "--reason", "5 cannot be read"),
    ).toMatchObject({
      code: 0,
      stdout: "billing goes on at 6 in audit/0\n",
    });
    expect(await shown()).toMatchObject({ next: 8, isUnclaimed: false });
    expect(await onceway("claims", "set-position", ...place, "--next", "42", "--reason", "to the end")).toMatchObject({
      code: 0,
    });
    expect(await shown()).toMatchObject({ next: 42, isUnclaimed: false });
    expect(
      (await onceway("claims", "set-position", "--group", "none", ...place.slice(2), "--next", "1", "--reason", "x"))
        .code,
    ).not.toBe(0);
    const { stdout } = await onceway("audit", "list", "--json");
    expect(stdout).toContain("billing audit/0: 42");
  });
});
