// Where an object runs: the data centre's code, as Cloudflare's own address /cdn-cgi/trace says it to whoever asks from there. Asked once for
// each instance, and only when somebody wants to see it. Nothing depends on the answer.

import { PLACE_BINDING } from "../../../kernel/config/read.ts";
import type { ObjectPlace } from "../../../kernel/traffic/exchange-reporter.ts";

/** Answers lines such as `colo=IAD`. */
const TRACE_URL = "https://www.cloudflare.com/cdn-cgi/trace";

/** Nobody who looks at the gateway waits longer for it. */
const TRACE_MS = 2000;

const NOT_FOUND = "?";

/** What PLACE_BINDING says, if it is no address. */
export function tracedPlace(env: Readonly<Record<string, unknown>>): ObjectPlace {
  const given = env[PLACE_BINDING];
  const said = typeof given === "string" && given !== "" ? given : TRACE_URL;
  return URL.canParse(said) ? new TracedPlace(said) : { known: said, find: () => Promise.resolve() };
}

class TracedPlace implements ObjectPlace {
  readonly #url: string;
  #known: string | null = null;
  #asked: Promise<void> | null = null;

  constructor(url: string) {
    this.#url = url;
  }

  get known(): string | null {
    return this.#known;
  }

  find(): Promise<void> {
    this.#asked ??= askTrace(this.#url).then((place) => void (this.#known = place));
    return this.#asked;
  }
}

/** Never rejects. */
async function askTrace(url: string): Promise<string> {
  try {
    const response = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(TRACE_MS) });
    return /^colo=([A-Z]{3})$/m.exec(await response.text())?.[1] ?? NOT_FOUND;
  } catch {
    return NOT_FOUND;
  }
}
