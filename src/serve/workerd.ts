// One run of workerd, from its start until it ends. When it is asked to drain, it takes no more requests and ends after those
// in flight have been answered, and what it does for no client has ended too (drain.ts). What takes longer than the grace period is cut off.

import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import type { Readable } from "node:stream";

import { drainAddress, endIsolate, makeDrainFolder } from "./drain.ts";
import type { StopSignals } from "./stop-signals.ts";

export interface WorkerdRun {
  readonly pid: number | undefined;
  /** Resolves with the port when workerd listens, or with `null` if it ended before that. */
  readonly listening: Promise<number | null>;
  readonly ended: Promise<WorkerdEnd>;
}

export interface WorkerdEnd {
  /** The exit code, signal or error: `exit code 1`, `SIGKILL`. */
  readonly how: string;
  /** Whether it was drained, and all that it was doing had ended when it did. */
  readonly isClean: boolean;
}

export interface WorkerdCommand {
  readonly bin: string;
  readonly configPath: string;
  /** `host:port`; overrides the address in the configuration. */
  readonly address: string;
  readonly env: NodeJS.ProcessEnv;
  /** A file descriptor that workerd inherits and keeps open while it runs. */
  readonly lockFd: number;
  /** How long a drain may take before workerd is killed. */
  readonly graceMs: number;
}

/** The file descriptor to which workerd writes on which port it listens. */
const CONTROL_FD = 3;

export function runWorkerd(command: WorkerdCommand, { drain, end }: StopSignals): WorkerdRun {
  const { bin, configPath, address, env, lockFd, graceMs } = command;
  const drainFolder = makeDrainFolder();
  const sockets = [`--socket-addr=http=${address}`, drainAddress(drainFolder)];
  const args = ["serve", configPath, ...sockets, `--control-fd=${CONTROL_FD}`];
  // It gets its own process group, so that a terminal's Ctrl-C reaches only this process, which then drains workerd.
  const child = spawn(bin, args, { env, detached: true, stdio: ["ignore", "inherit", "inherit", "pipe", lockFd] });

  const kill = (): void => void child.kill("SIGKILL");
  let timer: NodeJS.Timeout | undefined;
  const terminate = (): void => void child.kill("SIGTERM");
  let hasListened = false;
  let isEmpty = Promise.resolve(false);
  const askToEnd = (): void => {
    timer = setTimeout(kill, graceMs);
    if (hasListened) isEmpty = endIsolate(drainFolder, terminate);
    else {
      isEmpty = Promise.resolve(true);
      terminate();
    }
  };
  drain.addEventListener("abort", askToEnd);
  end.addEventListener("abort", kill);
  // After this process exits, nothing would supervise workerd.
  process.on("exit", kill);

  const ended = new Promise<WorkerdEnd>((resolve) => {
    const finish = (how: string, isClean: boolean): void => {
      clearTimeout(timer);
      rmSync(drainFolder, { recursive: true, force: true });
      drain.removeEventListener("abort", askToEnd);
      end.removeEventListener("abort", kill);
      process.off("exit", kill);
      void isEmpty.then((wasEmpty) => resolve({ how, isClean: isClean && wasEmpty }));
    };
    child.once("error", (error) => finish(error.message, false));
    child.once("exit", (code, signal) => finish(signal ?? `exit code ${code}`, code === 0 || signal === "SIGTERM"));
  });
  const port = portFrom(child.stdio[CONTROL_FD]).then((given) => {
    hasListened = true;
    return given;
  });
  return {
    pid: child.pid,
    listening: Promise.race([port, ended.then(() => null)]),
    ended,
  };
}

type ControlPipe = Readable | object | null | undefined;

/** The port in the message `{"event":"listen","socket":"http","port":8787}`. Never resolves if that message does not come. */
function portFrom(pipe: ControlPipe): Promise<number> {
  return new Promise((resolve) => {
    if (pipe === null || pipe === undefined || !("on" in pipe)) return;
    let text = "";
    pipe.on("data", (bytes: Buffer) => {
      text += bytes.toString();
      const port = /"event":"listen","socket":"http","port":(\d+)/.exec(text)?.[1];
      if (port !== undefined) resolve(Number(port));
    });
  });
}
