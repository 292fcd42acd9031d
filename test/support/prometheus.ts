// The Prometheus that the metrics are tested with (`npm run setup`): the real one, as a process that scrapes a gateway over loopback
// and keeps what it reads in a folder of its own.

import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { programPath } from "./programs.ts";

export interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Prometheus {
  /** An instant query. Throws with Prometheus's message if the query is invalid. */
  query(expression: string, atMs?: number): Promise<readonly Series[]>;
  close(): Promise<void>;
}

const answerSchema = v.variant("status", [
  v.object({ status: v.literal("error"), error: v.string() }),
  v.object({
    status: v.literal("success"),
    data: v.object({
      resultType: v.literal("vector"),
      result: v.array(v.object({ metric: v.record(v.string(), v.string()), value: v.tuple([v.number(), v.string()]) })),
    }),
  }),
]);

export interface ScrapeTarget {
  /** The gateway's URL and the path of its metrics. */
  readonly url: string;
  readonly path: string;
  readonly token: string;
  readonly everyMs: number;
  readonly rules: readonly string[];
}

/** Listens on a free port of the loopback address only. */
export async function startPrometheus({ url, path, token, everyMs, rules }: ScrapeTarget): Promise<Prometheus> {
  const program = programPath("prometheus");
  const dir = await mkdtemp(join(tmpdir(), "onceway-prometheus-"));
  // JSON is YAML.
  const config = {
    global: { scrape_interval: `${everyMs}ms`, scrape_timeout: `${everyMs}ms`, evaluation_interval: "1s" },
    rule_files: rules,
    scrape_configs: [
      {
        job_name: "onceway",
        metrics_path: path,
        authorization: { credentials: token },
        static_configs: [{ targets: [new URL(url).host] }],
      },
    ],
  };
  const file = join(dir, "prometheus.json");
  await writeFile(file, JSON.stringify(config), { mode: 0o600 });
  const storage = `--storage.tsdb.path=${join(dir, "data")}`;
  const args = [`--config.file=${file}`, storage, "--web.listen-address=127.0.0.1:0", "--log.format=json"];
  const child = spawn(program, args, { stdio: ["ignore", "ignore", "pipe"], env: {} });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  let log = "";
  const address = await new Promise<string>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", () => reject(new Error(`Prometheus ended:\n${log}`)));
    child.stderr.on("data", (bytes: Buffer) => {
      log += bytes.toString();
      const listening = /"address":"(127\.0\.0\.1:\d+)","[^\n]*"msg":"Listening on"/.exec(log)?.[1];
      if (listening !== undefined && log.includes("Server is ready")) resolve(`http://${listening}`);
    });
  });
  return {
    async query(expression, atMs) {
      const time = atMs === undefined ? {} : { time: String(atMs / 1000) };
      const query = new URLSearchParams({ query: expression, ...time });
      const response = await fetch(`${address}/api/v1/query?${query.toString()}`);
      const answer = v.parse(answerSchema, await response.json());
      if (answer.status === "error") throw new Error(`${expression}: ${answer.error}`);
      return answer.data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
    },
    async close() {
      child.kill("SIGKILL");
      await exited;
      await rm(dir, { recursive: true, force: true });
    },
  };
}
