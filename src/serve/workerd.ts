// One run of workerd: from its start, over the moment when it listens, to its end. Asked to drain, it takes no more
// requests and ends when those in flight have been answered; what takes too long is cut off.

import { spawn } from "node:child_process";
import type { Readable } from "node:stream";

import type { StopSignals } from "./stop-signals.ts";

export interface WorkerdRun {
  readonly pid: number | undefined;
  /** The port, once it listens; null when it has ended before. */
  readonly listening: Promise<number | null>;
  readonly ended: Promise<WorkerdEnd>;
}

export interface WorkerdEnd {
  /** `exit code 1`, `SIGKILL`. */
  readonly how: string;
  /** It drained, and had answered everybody when it ended. */
  readonly isClean: boolean;
}

export interface WorkerdCommand {
  readonly bin: string;
  readonly configPath: string;
  /** `host:port`, whatever the configuration says. */
  readonly address: string;
  readonly env: NodeJS.ProcessEnv;
  /** Inherited, and held open for as long as the process lives. */
  readonly lockFd: number;
  readonly graceMs: number;
}

/** Where workerd tells on which port it listens. */
const CONTROL_FD = 3;

export function runWorkerd(command: WorkerdCommand, { drain, end }: StopSignals): WorkerdRun {
  const { bin, configPath, address, env, lockFd, graceMs } = command;
  const args = ["serve", configPath, `--socket-addr=http=${address}`, `--control-fd=${CONTROL_FD}`];
  // A group of its own: what a terminal sends to everybody (Ctrl-C) reaches it through this process alone.
  const child = spawn(bin, args, { env, detached: true, stdio: ["ignore", "inherit", "inherit", "pipe", lockFd] });

  const kill = (): void => void child.kill("SIGKILL");
  let timer: NodeJS.Timeout | undefined;
  const askToEnd = (): void => {
    child.kill("SIGTERM");
    timer = setTimeout(kill, graceMs);
  };
  drain.addEventListener("abort", askToEnd);
  end.addEventListener("abort", kill);
  // Nobody would supervise it any more.
  process.on("exit", kill);

  const ended = new Promise<WorkerdEnd>((resolve) => {
    const finish = (how: string, isClean: boolean): void => {
      clearTimeout(timer);
      drain.removeEventListener("abort", askToEnd);
      end.removeEventListener("abort", kill);
      process.off("exit", kill);
      resolve({ how, isClean });
    };
    child.once("error", (error) => finish(error.message, false));
    child.once("exit", (code, signal) =>
      finish(signal ?? `exit code ${code}`, drain.aborted && (code === 0 || signal === "SIGTERM")),
    );
  });
  return {
    pid: child.pid,
    listening: Promise.race([portFrom(child.stdio[CONTROL_FD]), ended.then(() => null)]),
    ended,
  };
}

type ControlPipe = Readable | object | null | undefined;

/** The port of the message `{"event":"listen","socket":"http","port":8787}`; never, when none comes. */
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
