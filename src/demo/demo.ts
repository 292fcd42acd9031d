// The parts of the demo without the gateway: the API in a process of its own, the clients, and the page that shows both.

import { DemoClients } from "./clients.ts";
import { consoleLink } from "./console-link.ts";
import { OriginDatabase } from "./origin-database.ts";
import { OriginKeeper } from "./origin-keeper.ts";
import { type DemoPage, startPage } from "./page-server.ts";

export interface DemoOptions {
  readonly ports: { readonly origin: number; readonly page: number };
  /** The file of the API's database. */
  readonly database: string;
  /** The gateway's URL; it may start later. */
  readonly gateway: string;
  /** Of the gateway. */
  readonly adminToken: string;
  /** The commands to try. */
  readonly examples: string;
}

export interface RunningDemo {
  readonly pageUrl: string;
  close(): Promise<void>;
}

export async function startDemo({ ports, database, gateway, adminToken, examples }: DemoOptions): Promise<RunningDemo> {
  let page: DemoPage | null = null;
  const onChange = (): void => page?.changed();
  const keeper = await OriginKeeper.start({ port: ports.origin, database, onChange });
  const calls = new OriginDatabase(database);
  const clients = new DemoClients({
    gateway,
    killInCall: (key) => keeper.killInCall(key),
    restart: () => keeper.restart(),
    onChange,
  });
  const open = await startPage({
    port: ports.page,
    examples,
    snapshot: () => ({
      gateway,
      console: `${gateway}/_onceway`,
      origin: { pid: keeper.pid, kills: keeper.kills },
      sent: clients.sent,
      calls: calls.countersOf(clients.prefix),
      steps: clients.steps,
      running: clients.running,
      canRepeat: clients.canRepeat,
      requests: calls.requests,
      effects: calls.effects,
    }),
    start: (run) => clients.start(run),
    gateway,
    signIn: (key) => consoleLink(gateway, adminToken, key),
  });
  page = open;
  return {
    pageUrl: open.url,
    close: async () => {
      page = null;
      await open.close();
      await keeper.close();
      calls.close();
    },
  };
}
