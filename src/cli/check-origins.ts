// What `onceway check` says of origins that this machine does not reach. The network may differ where the gateway runs, so nothing of it is an
// error.

import type { CheckedEnvironment } from "../config/check-file.ts";
import { isExample, originsOf } from "../config/check-reach.ts";
import { below, type ConfigProblem } from "../config/config-problem.ts";
import { reachOrigin } from "./reach-origin.ts";

export async function withOrigins(environment: CheckedEnvironment): Promise<CheckedEnvironment> {
  const { name, config, warnings, notes } = environment;
  if (config === null) return environment;
  const placed = below(name === null ? "" : `env.${name}.`);
  const looked = await Promise.all(
    originsOf(config)
      .filter(({ url }) => !isExample(url.hostname))
      .map(async ({ path, url }) => ({ path, url, found: await reachOrigin(url) })),
  );
  const told = (which: "no-such-host" | "silent", words: (url: URL) => string): readonly ConfigProblem[] =>
    looked
      .filter(({ found }) => found === which)
      .map(({ path, url }) => placed({ path, code: "origin-unreachable", message: words(url) }));
  return {
    ...environment,
    warnings: [
      ...warnings,
      ...told(
        "no-such-host",
        ({ hostname }) =>
          `there is no host "${hostname}": write your API's address, or each call breaks off with an unknown outcome`,
      ),
    ],
    notes: [
      ...notes,
      ...told(
        "silent",
        ({ host, href }) => `nothing answers at ${host} from this machine. Does it listen? Try: curl -i ${href}`,
      ),
    ],
  };
}
