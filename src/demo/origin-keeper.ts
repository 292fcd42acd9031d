// Keeps the demo's API running in a process of its own, kills it on demand in the middle of a call, and starts it again.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

export interface OriginKeeperOptions {
  readonly port: number;
  /** The database's file. */
  readonly database: string;
  /** Called whenever the process has started or ended. */
  readonly onChange?: () => void;
}

type KeeperMessage =
  | { readonly kind: "ready" | "waiting" | "acted" }
  | { readonly kind: "failed"; readonly reason: string };

export class OriginKeeper {
  readonly url: string;
  readonly #options: OriginKeeperOptions;
  #child: ChildProcess | null = null;
  #kills = 0;

  private constructor(options: OriginKeeperOptions) {
    this.#options = options;
    this.url = `http://127.0.0.1:${options.port}`;
  }

  /** Resolves when the API answers. Rejects if it cannot listen. */
  static async start(options: OriginKeeperOptions): Promise<OriginKeeper> {
    const keeper = new OriginKeeper(options);
    await keeper.#start();
    return keeper;
  }

  /** `null` while it does not run. */
  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** How often it was killed. */
  get kills(): number {
    return this.#kills;
  }

  /**
   * Kills the process (SIGKILL) when a request with this key has taken effect and is not yet answered. The first promise resolves when
   * the process listens for that key, `killed` when it is dead.
   */
  async killInCall(key: string): Promise<{ readonly killed: Promise<void> }> {
    const child = this.#child;
    if (child === null) throw new Error("the demo's API does not run");
    const acted = messageOf(child, "acted");
    const waiting = messageOf(child, "waiting");
    child.send(key);
    await waiting;
    const kill = async (): Promise<void> => {
      await acted;
      const exit = once(child, "exit");
      this.#kills += 1;
      child.kill("SIGKILL");
      await exit;
    };
    return { killed: kill() };
  }

  /** After a kill. */
  restart(): Promise<void> {
    return this.#child === null ? this.#start() : Promise.resolve();
  }

  async close(): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    const exit = once(child, "exit");
    child.kill("SIGKILL");
    await exit;
  }

  async #start(): Promise<void> {
    const { port, database, onChange } = this.#options;
    const child = fork(join(import.meta.dirname, "origin-process.ts"), [String(port), database]);
    child.once("exit", () => {
      this.#child = null;
      onChange?.();
    });
    await messageOf(child, "ready");
    this.#child = child;
    onChange?.();
  }
}

/** Rejects if the process says that it has failed, or ends. */
function messageOf(child: ChildProcess, kind: KeeperMessage["kind"]): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      child.off("message", listen);
      child.off("exit", fail);
    };
    const fail = (): void => {
      end();
      reject(new Error("the demo's API has ended"));
    };
    const listen = (message: KeeperMessage): void => {
      if (message.kind === "failed") {
        end();
        reject(new Error(message.reason));
      } else if (message.kind === kind) {
        end();
        resolve();
      }
    };
    child.on("message", listen);
    child.on("exit", fail);
  });
}
