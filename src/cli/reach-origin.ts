// Looks up and connects to an origin from this machine, before a mistyped name becomes a request of unknown outcome, and sends it nothing.
// Features look where their own addresses lead.

import { connect } from "node:net";

import type { CheckedEnvironment } from "./check/file.ts";
import { isExample, originsOf } from "./check/reach.ts";
import { problemsBelow, type ConfigProblem } from "../kernel/config/config-problem.ts";
import { CHECKS } from "./check/of-features.ts";

const CONNECT_MS = 2_000;

/**
 * `no-such-host`: the name belongs to nobody. `silent`: nothing takes a connection there, as seen from this machine. `null`: something does,
 * or this machine cannot tell.
 */
export type UnreachedHost = "no-such-host" | "silent" | null;

export function reachOrigin({ protocol, hostname, port }: URL): Promise<UnreachedHost> {
  return new Promise((done) => {
    const socket = connect({
      host: hostname.replace(/^\[|\]$/g, ""),
      port: Number(port) || (protocol === "https:" ? 443 : 80),
      timeout: CONNECT_MS,
    });
    const end = (found: UnreachedHost): void => {
      socket.destroy();
      done(found);
    };
    socket.once("connect", () => end(null));
    socket.once("timeout", () => end("silent"));
    socket.once("error", (error: NodeJS.ErrnoException) => end(whatItMeans(error.code)));
  });
}

function whatItMeans(code: string | undefined): UnreachedHost {
  if (code === "ENOTFOUND") return "no-such-host";
  // EAI_AGAIN, ENETUNREACH and the like are this machine's own.
  return code === "ECONNREFUSED" || code === "ECONNRESET" || code === "EHOSTUNREACH" ? "silent" : null;
}

/** What `onceway check` says of it. The network may differ where the gateway runs, so nothing of it is an error. */
export async function withOrigins(environment: CheckedEnvironment): Promise<CheckedEnvironment> {
  const { name, config, warnings, notes } = environment;
  if (config === null) return environment;
  const placed = problemsBelow(name === null ? "" : `env.${name}.`);
  const looked = await Promise.all(
    originsOf(config)
      .filter(({ url }) => !isExample(url.hostname))
      .map(async ({ path, url }) => ({ path, url, found: await reachOrigin(url) })),
  );
  const ofFeatures = await Promise.all(CHECKS.flatMap(({ look }) => look?.(config) ?? []));
  const problemsOf = (which: "no-such-host" | "silent", words: (url: URL) => string): readonly ConfigProblem[] =>
    looked
      .filter(({ found }) => found === which)
      .map(({ path, url }) => placed({ path, code: "origin-unreachable", message: words(url) }));
  return {
    ...environment,
    warnings: [
      ...warnings,
      ...problemsOf(
        "no-such-host",
        ({ hostname }) =>
          `there is no host "${hostname}": write your API's address, or each call breaks off with an unknown outcome`,
      ),
      ...ofFeatures.flat().map(placed),
    ],
    notes: [
      ...notes,
      ...problemsOf(
        "silent",
        ({ host, href }) => `nothing answers at ${host} from this machine. Does it listen? Try: curl -i ${href}`,
      ),
    ],
  };
}
