// A Worker beside the gateway, in the same process, that calls the gateway's handlers of queues and cron triggers as the platform does, or gets
// its traces.

import { readFile } from "node:fs/promises";
import type { WorkerdOptions } from "./gateway.ts";

type Beside = Required<Pick<WorkerdOptions, "extraServices" | "extraSockets" | "experimental">>;

/** Runs `<name>.js` of this folder, which gets the gateway as `env.GATEWAY`, and listens on the port. */
export async function workerBeside(name: "deliverer" | "tail" | "ticker", port: number): Promise<Beside> {
  const script = await readFile(new URL(`./${name}.js`, import.meta.url), "utf8");
  return {
    extraServices: [
      `(name = "${name}", worker = (modules = [(name = "${name}.js", esModule = ${JSON.stringify(script)})],
        compatibilityDate = "2026-10-01", compatibilityFlags = ["service_binding_extra_handlers", "streaming_tail_worker"],
        bindings = [(name = "GATEWAY", service = "gateway")], globalOutbound = "internet"))`,
    ],
    extraSockets: [`(name = "${name}", address = "127.0.0.1:${port}", http = (), service = "${name}")`],
    experimental: true,
  };
}
