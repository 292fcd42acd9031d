// The load on the gateway while its memory is measured.

import { freshKey } from "../support/http.ts";
import { download, exchange, MIB, type Timed } from "./requests.ts";

const short = process.argv.includes("--short");

const SIZES = short
  ? { response: 20, upload: 10, many: 10, each: 4, attached: 8 }
  : { response: 100, upload: 50, many: 50, each: 20, attached: 20 };

/** Of the latency measurement. */
export const ROUNDS = short ? 40 : 300;

export interface Scenario {
  readonly name: string;
  readonly bytes: number;
  /** Not comparable with a Worker that only forwards. */
  readonly onlyGateway?: boolean;
  readonly shards?: number;
  run(url: string): Promise<void>;
}

function many(count: number, mebibytes: number): Scenario {
  return {
    name: `${count} at once, ${mebibytes} MiB each`,
    bytes: count * mebibytes * MIB,
    run: async (url) => {
      await Promise.all(Array.from({ length: count }, () => download(url, mebibytes)));
    },
  };
}

function inOneShard(scenario: Scenario): Scenario {
  return { ...scenario, name: `${scenario.name}, one shard`, shards: 1, onlyGateway: true };
}

/** Ten duplicates that follow one stream; one of them begins to read when all others are done. */
async function attached(url: string): Promise<void> {
  const key = freshKey();
  const path = `/bytes?size=${SIZES.attached * MIB}`;
  const read = (after?: Promise<unknown>): Promise<Timed> => exchange(url, { path, key, ...(after && { after }) });
  const first = read();
  const others = Array.from({ length: 9 }, () => read());
  const slow = read(Promise.all([first, ...others]));
  for (const { bytes } of await Promise.all([first, ...others, slow])) {
    if (bytes !== SIZES.attached * MIB) throw new Error(`${bytes} bytes came`);
  }
}

export const SCENARIOS: readonly Scenario[] = [
  {
    name: `one response of ${SIZES.response} MiB`,
    bytes: SIZES.response * MIB,
    run: (url) => download(url, SIZES.response),
  },
  {
    name: `one upload of ${SIZES.upload} MiB`,
    bytes: SIZES.upload * MIB,
    run: async (url) => void (await exchange(url, { path: "/upload", upload: SIZES.upload * MIB })),
  },
  many(SIZES.many, SIZES.each),
  inOneShard(many(SIZES.many, SIZES.each)),
  inOneShard(many(4 * SIZES.many, SIZES.each / 4)),
  inOneShard(many(8 * SIZES.many, 3)),
  {
    name: `10 attached to one of ${SIZES.attached} MiB`,
    bytes: 11 * SIZES.attached * MIB,
    onlyGateway: true,
    run: attached,
  },
];
