// Real proxies (`npm run setup`) in front of a gateway, with the very lines that src/serve/README.md prints.

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort, untilAnswers } from "./ports.ts";
import { spawnGroup } from "./process-group.ts";
import { programPath } from "./programs.ts";

const README = new URL("../../src/serve/README.md", import.meta.url);
const PROCESSES = new URL("../../src/serve/processes/", import.meta.url);

export type ProxyKind = "nginx" | "haproxy";

/** What differs between the example in src/serve/README.md and a test on loopback. */
export interface ProxyPlaces {
  readonly gatewayPort: number;
  readonly operatorPort: number;
  /** The one network that operators may come from. */
  readonly operatorNetwork: string;
}

export interface Proxy {
  readonly pid: number;
  /** Where clients come in. */
  readonly port: number;
  readonly operatorPort: number;
  stop(): Promise<void>;
}

/** That page's block of this language, with ports of this machine, and without TLS. */
export async function startProxy(kind: ProxyKind, places: ProxyPlaces): Promise<Proxy> {
  const [port, operatorPort] = [await freePort(), await freePort()];
  const [, block = ""] = new RegExp(`\`\`\`${kind}\n([^\`]+)\`\`\``).exec(await readFile(README, "utf8")) ?? [];
  const text = block
    .replaceAll("127.0.0.1:8787", `127.0.0.1:${places.gatewayPort}`)
    .replaceAll("127.0.0.1:8788", `127.0.0.1:${places.operatorPort}`)
    .replaceAll("10.0.0.0/8", places.operatorNetwork)
    .replaceAll(/(listen|bind) 10\.0\.0\.5:443 ssl[^;\n]*/g, `$1 127.0.0.1:${operatorPort}`)
    .replaceAll(/(listen|bind) (?::|\*:)?443 ssl[^;\n]*/g, `$1 127.0.0.1:${port}`)
    .replaceAll(/^ *ssl_.*\n/gm, "");
  return runProxy(kind, text, port, operatorPort);
}

/** Where the two processes of src/serve/processes/haproxy.cfg are in a test. */
export interface ProcessPlaces {
  readonly ports: readonly [number, number];
  readonly operatorPorts: readonly [number, number];
  readonly operatorNetwork: string;
}

/** HAProxy with that file, with ports of this machine and without TLS. `change` makes the changes that a page describes. */
export async function startProcessesProxy(
  { ports, operatorPorts, operatorNetwork }: ProcessPlaces,
  change = (text: string): string => text,
): Promise<Proxy> {
  const [port, operatorPort] = [await freePort(), await freePort()];
  const text = change(await readFile(new URL("haproxy.cfg", PROCESSES), "utf8"))
    .replaceAll(/127\.0\.0\.1:88(0[01])/g, (_, number) => `127.0.0.1:${ports[number === "00" ? 0 : 1]}`)
    .replaceAll(/127\.0\.0\.1:89(0[01])/g, (_, number) => `127.0.0.1:${operatorPorts[number === "00" ? 0 : 1]}`)
    .replaceAll("10.0.0.0/8", operatorNetwork)
    .replace(/bind 10\.0\.0\.5:443 ssl.*/, `bind 127.0.0.1:${operatorPort}`)
    .replace(/bind :443 ssl.*/, `bind 127.0.0.1:${port}`)
    .replaceAll("/etc/haproxy/", fileURLToPath(PROCESSES))
    // Only root can become another user.
    .replaceAll(/^ {2}(?:user|group) haproxy\n/gm, process.getuid?.() === 0 ? "$&" : "");
  return runFile("haproxy", () => text, port, operatorPort);
}

/** With lines of a test's own; `port` and `operatorPort` are those that they name. */
export async function runProxy(kind: ProxyKind, text: string, port: number, operatorPort: number): Promise<Proxy> {
  return runFile(kind, (dir) => (kind === "nginx" ? nginxFile(dir, text) : haproxyFile(text)), port, operatorPort);
}

/** `textOf` gets the folder in which the proxy may write. */
async function runFile(
  kind: ProxyKind,
  textOf: (dir: string) => string,
  port: number,
  operatorPort: number,
): Promise<Proxy> {
  const program = programPath(kind);
  const dir = await mkdtemp(join(tmpdir(), `onceway-${kind}-`));
  const file = join(dir, "proxy.conf");
  await writeFile(file, textOf(dir));
  const args = kind === "nginx" ? ["-p", dir, "-c", file, "-e", "stderr"] : ["-db", "-f", file];
  const group = await spawnGroup(program, args, { cwd: dir, env: process.env });
  const failure = (): string | null => (group.hasExited() ? `${kind} has ended: ${group.output()}` : null);
  await untilAnswers({ port, path: "/", timeoutMs: 20_000, failure });
  return {
    pid: group.pid,
    port,
    operatorPort,
    async stop() {
      await group.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function nginxFile(dir: string, text: string): string {
  const kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const folders = kinds.map((kind) => `  ${kind}_temp_path ${dir}/${kind};`).join("\n");
  const user = process.getuid?.() === 0 ? "user root;\n" : "";
  return `${user}daemon off;\nworker_processes 1;\npid ${dir}/pid;\nevents {}\nhttp {\n  access_log off;\n${folders}\n${text}}\n`;
}

function haproxyFile(text: string): string {
  return `global\n  maxconn 200\ndefaults\n  mode http\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n${text}`;
}
