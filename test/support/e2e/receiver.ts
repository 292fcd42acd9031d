// An operator's receiver of alerts, in a process of its own that outlives the gateway, and what every alert has in common.

import { join } from "node:path";
import { expect } from "vitest";
import type { Alert } from "../../../src/kernel/record/alerts.ts";
import { type HookLine, startHook } from "../hook.ts";
import { freePort } from "../ports.ts";
import { until } from "./guarantees-client.ts";
import { SECRETS } from "./outbox-scene.ts";
import { rowsIn, shardFiles } from "./shard-database.ts";

const CONSOLE = "https://ops.example/_onceway";
const ARRIVED_MS = 45_000;
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

export interface Receiver {
  /** Its address, without a path: hook-process.ts says what each path answers. */
  readonly url: string;
  /** The destination that is told of these. */
  destination(alerts: readonly Alert[]): { readonly [setting: string]: string | readonly string[] };
  /** What it has taken, once there is so much of it. */
  taken(count: number): Promise<readonly HookLine[]>;
  /** SIGKILL; `startAgain` starts it on the same port and journal. */
  kill(): Promise<void>;
  startAgain(): Promise<void>;
}

/** Its journal is in `folder`. The gateway needs the secrets of outbox-scene.ts. */
export async function startReceiver(folder: string): Promise<Receiver> {
  const options = { port: await freePort(), journal: join(folder, "hook.journal"), secrets: [SECRETS.NEW] };
  let hook = await startHook(options);
  return {
    url: hook.url,
    destination: (alerts) => ({ name: "ops", url: `${hook.url}/taken`, secret: ["NEW"], alerts, console: CONSOLE }),
    taken: (count) =>
      until(
        async () => (await hook.readJournal()).filter(({ path }) => path === "/taken"),
        (lines) => lines.length >= count,
        ARRIVED_MS,
      ),
    kill: () => hook.close(),
    async startAgain() {
      hook = await startHook(options);
    },
  };
}

/** Events that the gateway has and that their destinations have not taken. */
export function eventsLeft(stateDir: string): number {
  return shardFiles({ stateDir }).flatMap((file) => rowsIn(file, "id", "outbox", "true")).length;
}

export async function untilEventsLeft(stateDir: string, count: number): Promise<void> {
  await until(
    () => Promise.resolve(eventsLeft(stateDir)),
    (left) => left === count,
    ARRIVED_MS,
  );
}

interface Expected {
  readonly subject: string;
  /** The shard that tells it. */
  readonly shard: string;
  /** In the console. */
  readonly page: string;
  /** What only this alert has; `summary` too. */
  readonly data: object;
}

/** The alert is signed, and is as src/features/outbox/README.md says: nothing more is in it, so no key, path or body either. */
export function expectAlert(line: HookLine | undefined, alert: Alert, { subject, shard, page, data }: Expected): void {
  const { id } = line ?? {};
  expect(id).toMatch(new RegExp(`^alert-${alert}-`));
  expect(line).toMatchObject({ webhookId: id, verified: [true] });
  expect(line?.alert).toEqual({
    specversion: "1.0",
    id,
    source: `onceway:${shard}`,
    type: `dev.onceway.alert.${alert}`,
    subject,
    time: expect.stringMatching(ISO_TIME),
    datacontenttype: "application/json",
    data: {
      since: expect.stringMatching(ISO_TIME),
      advice: expect.stringMatching(/\w\.$/),
      link: CONSOLE + page,
      ...data,
    },
  });
}
