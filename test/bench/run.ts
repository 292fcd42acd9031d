// `npm run bench -- NAME [OPTIONS]`: one measurement. Without a name, or with `--help`, says which there are.

import { argv } from "node:process";

interface Bench {
  readonly measures: string;
  readonly options?: string;
  readonly run: () => Promise<unknown>;
}

/** Not followed by the compiler: it checks what runs the shard's own code in Node with types of its own. */
const beside = (file: string): string => new URL(file, import.meta.url).href;

/** Those marked with * need what `test/bench/install.sh` installs. */
const BENCHES: Readonly<Record<string, Bench>> = {
  throughput: {
    measures: "* requests per second, latency and processor time, beside a plain proxy and what others use",
    options:
      "[--short] [--disk] [--rounds N] [--seconds N] [--warm-up N] [--no-peers] [--only NAME,NAME] [--connections N,N] [--beside DIR] [--json FILE] [--svg DIR] [--volume FILE]",
    run: () => import("./throughput.ts"),
  },
  ladder: {
    measures: "* what each step from the least possible code to the gateway costs",
    options: "[--rounds N] [--seconds N] [--warm-up N]",
    run: () => import("./ladder.ts"),
  },
  versus: {
    measures: "* processor time, with all contestants under load at the same time; DIR is another checkout",
    options: "[--only NAME,NAME] [--beside DIR] [--rounds N] [--seconds N] [--warm-up N] [--connections N] [--keys N]",
    run: () => import("./versus.ts"),
  },
  instructions: {
    measures: "* instructions executed for a request, which no other load changes; DIR is another checkout",
    options: "[--only NAME,NAME] [--beside DIR] [--requests N] [--warm-up N] [--save DIR]",
    run: () => import("./instructions.ts"),
  },
  cores: {
    measures: "* two processes behind HAProxy against one, on this machine's cores",
    options: "[--rounds N] [--seconds N] [--warm-up SECONDS]",
    run: () => import("./cores.ts"),
  },
  transition: {
    measures: "* first requests while the number of shards changes, beside those where it does not",
    options: "[--rounds N] [--seconds N] [--connections N] [--disk]",
    run: () => import("./transition.ts"),
  },
  encrypted: {
    measures: "* first requests and replays of encrypted responses, beside open ones, and bytes for each record",
    options: "[--rounds N] [--seconds N] [--connections N]",
    run: () => import("./encrypted.ts"),
  },
  accepted: {
    measures: "* requests that somebody waits for beside accepted ones in one shard, and accepted ones to their result",
    options: "[--only NAME,NAME] [--rounds N] [--seconds N] [--connections N] [--rate N] [--disk]",
    run: () => import("./accepted.ts"),
  },
  queues: {
    measures: "messages of a queue per second, unprotected beside protected; DIR is another checkout",
    options:
      "[--rounds N] [--seconds N] [--warm-up N] [--consumers N] [--batch N] [--shards N] [--late] [--beside DIR] [--disk]",
    run: () => import("./queues.ts"),
  },
  claims: {
    measures: "consumers' claims per second, of distinct keys and of one that is held, alone and in batches",
    options: "[--rounds N] [--seconds N] [--connections N] [--disk]",
    run: () => import("./claims.ts"),
  },
  runtime: {
    measures: "what the runtime's own objects and calls cost, each alone",
    options: "[--only NAME,NAME] [--rounds N]",
    run: () => import("./runtime-calls.ts"),
  },
  streams: {
    measures: "memory, and the time to a stream's first byte",
    options: "[--short] [--tmpfs] [--only TEXT] [--json FILE]",
    run: () => import("./streams.ts"),
  },
  connect: {
    measures: "the price of opening a connection before a call",
    run: () => import("./connect.ts"),
  },
  fingerprint: {
    measures: "what it costs to compare a body, at worst",
    options: "[--rounds N] [--only TEXT]",
    run: () => import("./fingerprint.ts"),
  },
  keys: {
    measures: "what it costs to find a key in a body, or to tell what a GraphQL request does, at worst",
    options: "[--rounds N] [--only TEXT]",
    run: () => import("./key-search.ts"),
  },
  operator: {
    measures: "lists and look-ups with 100,000 records",
    options: "[--short] [--records N] [--tmpfs] [--json FILE]",
    run: () => import("./records/operator.ts"),
  },
  console: {
    measures: "the console with 100,000 records, in Chromium",
    options: "[--records N] [--tmpfs] [--json FILE]",
    run: () => import("./records/console.ts"),
  },
  large: {
    measures: "an operator's requests about a layout with 4,096 objects: calls to objects, milliseconds, bytes",
    run: () => import("./large.ts"),
  },
  growth: {
    measures: "* a million records, or 20,000 with large bodies, against a thousand",
    options: "[--short] [--only small|large|memory] [--rounds N] [--tmpfs] [--json FILE] [--svg DIR]",
    run: () => import("./records/growth.ts"),
  },
  volume: {
    measures: "a million records loaded, expired and erased; goes on where it stopped when given the same --state",
    options: "[--short | --full] [--records N] [--state DIR] [--tmpfs] [--json FILE]",
    run: () => import("./records/volume.ts"),
  },
  slices: {
    measures: "how long one turn of the alarm erases, by the size of the bodies",
    options: "[--records N] [--tmpfs]",
    run: () => import(beside("records/loader/slices.ts")),
  },
  // feature: callers begins
  forget: {
    measures: "how long one turn of `forget --scope` holds a shard",
    options: "[--records N] [--tmpfs]",
    run: () => import(beside("../features/callers/bench/forget.ts")),
  },
  // feature: callers ends
  rows: {
    measures: "what a look-up costs, by the size of the rows that it looks among",
    options: "[--records N] [--bytes N,N] [--json FILE]",
    run: () => import(beside("records/loader/rows.ts")),
  },
  startup: {
    measures: "the time to the first answer of a fresh process, with the bundle as it is and a larger one",
    options: "[--rounds N]",
    run: () => import("./startup.ts"),
  },
  cost: {
    measures: "dollars per million requests on Cloudflare, from counted operations",
    run: () => import("./cost/print.ts"),
  },
};

function usage(names: readonly string[]): string {
  const lines = names.flatMap((name) => {
    const { measures = "", options = "" } = BENCHES[name] ?? {};
    return [`  ${name.padEnd(12)} ${measures}`, ...(options === "" ? [] : [`  ${" ".repeat(12)} ${options}`])];
  });
  const text = `Usage: npm run bench -- NAME [OPTIONS]\n\n${lines.join("\n")}`;
  return text.includes("* ") ? `${text}\n\n* after test/bench/install.sh, which installs wrk and Redis` : text;
}

const [name = "--help", ...rest] = argv.slice(2);
const bench = BENCHES[name];
if (bench === undefined) {
  const isHelp = name === "--help";
  (isHelp ? console.log : console.error)(
    `${isHelp ? "" : `no bench is called ${name}\n`}${usage(Object.keys(BENCHES))}`,
  );
  process.exitCode = isHelp ? 0 : 1;
} else if (rest.includes("--help")) {
  console.log(usage([name]));
} else {
  // The measurement reads its own options.
  argv.splice(2, 1);
  await bench.run();
}
