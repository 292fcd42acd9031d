// Runs `wrangler dev` in its own process group and shows none of its output until the gateway answers. It ends the whole
// group by its id, so that wrangler's children end too and no other process does.

import { spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const POLL_MS = 100;
const KILL_AFTER_MS = 5_000;

export interface WranglerDevOptions {
  readonly projectDir: string;
  readonly configPath: string;
  readonly stateDir: string;
  readonly port: number;
  /** A file descriptor that wrangler keeps open while it runs; `null` if nothing is locked. */
  readonly lockFd: number | null;
  /** Whether to show wrangler's lines about requests. */
  readonly showsRequests: boolean;
}

export interface WranglerDev {
  readonly pid: number | undefined;
  /** Resolves with wrangler's exit code when it ends; a signal counts as 1. */
  readonly exited: Promise<number>;
  /** Resolves with `true` when the gateway answers, or with `false` if wrangler ends before that. */
  ready(): Promise<boolean>;
  /** What wrangler printed before the gateway was ready. */
  startOutput(): string;
  /** Ends wrangler and its children, and resolves when wrangler has ended. Kills them after 5 s. */
  stop(): Promise<void>;
}

export function startWranglerDev(options: WranglerDevOptions): WranglerDev {
  const { projectDir, configPath, stateDir, port, lockFd, showsRequests } = options;
  const bin = join(projectDir, "node_modules/wrangler/bin/wrangler.js");
  const where = ["--config", configPath, "--ip", "127.0.0.1", "--port", String(port), "--persist-to", stateDir];
  const args = [bin, "dev", "--local", "--show-interactive-dev-session=false", ...where];
  const child = spawn(process.execPath, args, {
    cwd: projectDir,
    detached: true,
    stdio: ["ignore", "pipe", "pipe", lockFd ?? "ignore"],
    env: {
      ...process.env,
      ...(process.stdout.isTTY ? { FORCE_COLOR: "1" } : {}),
      // No telemetry, no check for updates, and no request to learn this machine's location.
      CLOUDFLARE_CF_FETCH_ENABLED: "false",
      WRANGLER_HIDE_BANNER: "true",
      WRANGLER_SEND_METRICS: "false",
      WRANGLER_WRITE_LOGS: "false",
    },
  });

  let isReady = false;
  let hasExited = false;
  let startOutput = "";
  child.stdout?.on("data", (bytes: Buffer) => {
    if (!isReady) startOutput += bytes.toString();
    else if (showsRequests) process.stdout.write(bytes);
  });
  child.stderr?.on("data", (bytes: Buffer) => {
    if (!isReady) startOutput += bytes.toString();
    else if (showsRequests) process.stderr.write(bytes);
  });
  const exited = new Promise<number>((resolve) => {
    const end = (code: number): void => {
      hasExited = true;
      signalGroup(child.pid, "SIGKILL");
      resolve(code);
    };
    child.once("exit", (code) => end(code ?? 1));
    child.once("error", (error) => {
      startOutput += String(error);
      end(1);
    });
  });

  return {
    pid: child.pid,
    exited,
    startOutput: () => startOutput,
    async ready() {
      for (;;) {
        if (hasExited) return false;
        isReady = await answers(port);
        if (isReady) return true;
        await pause(POLL_MS);
      }
    },
    async stop() {
      signalGroup(child.pid, "SIGTERM");
      const timer = setTimeout(() => signalGroup(child.pid, "SIGKILL"), KILL_AFTER_MS);
      await exited;
      clearTimeout(timer);
    },
  };
}

async function answers(port: number): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/.well-known/idempotency`, {
      signal: AbortSignal.timeout(2_000),
    });
    await response.body?.cancel();
    return true;
  } catch {
    return false;
  }
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // ESRCH: the group has no process left.
  }
}
