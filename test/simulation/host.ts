// One object as the platform sees it: its disk, at most one running instance, its output gate and its alarm. world.ts has one of
// them, layouts/world.ts several.

import type { Disk } from "./disk.ts";
import type { Shard } from "./shard.ts";

export class Host {
  readonly name: string;
  readonly disk: Disk;
  /** How many instances have been lost. */
  life = 0;
  readonly #make: () => Shard;
  #shard: Shard | null = null;
  #syncs: (() => void)[] = [];
  /** The scheduled time of the alarm whose handler runs; `null` if none runs. */
  #handledMs: number | null = null;

  constructor(name: string, disk: Disk, make: (host: Host) => Shard) {
    this.name = name;
    this.disk = disk;
    this.#make = () => make(this);
  }

  /** Whether an instance of the object exists. */
  get hasInstance(): boolean {
    return this.#shard !== null;
  }

  /** The running instance; a new one if there is none. */
  get shard(): Shard {
    this.#shard ??= this.#make();
    return this.#shard;
  }

  get needsCommit(): boolean {
    return this.disk.isDirty || this.#syncs.length > 0;
  }

  sync(): Promise<void> {
    return new Promise((resolve) => this.#syncs.push(resolve));
  }

  /** Everything written so far becomes durable. `learn` runs before anybody in the object hears of it. */
  commit(learn: () => void): void {
    this.disk.commit();
    learn();
    const syncs = this.#syncs;
    this.#syncs = [];
    for (const resolve of syncs) resolve();
  }

  /** The object is lost with its memory, and with everything that was not durable. */
  crash(): void {
    this.life += 1;
    this.#shard?.die();
    this.#shard = null;
    this.#syncs = [];
    this.#handledMs = null;
    this.disk.crash();
  }

  get isHandlingAlarm(): boolean {
    return this.#handledMs !== null;
  }

  /** Whether the platform may deliver the alarm: it is durable and due, and no later write has moved it. */
  isAlarmDue(nowMs: number): boolean {
    const { alarmMs, durableAlarmMs } = this.disk;
    return this.#handledMs === null && durableAlarmMs !== null && alarmMs === durableAlarmMs && durableAlarmMs <= nowMs;
  }

  /**
   * The alarm is cleared when its handler is done, in the same commit as the handler's writes; otherwise it comes again. Resolves
   * to the time until which the next may stay away; `null` if it may not.
   */
  async alarm(): Promise<number | null> {
    const { disk } = this;
    const scheduled = disk.durableAlarmMs ?? 0;
    const life = this.life;
    this.#handledMs = scheduled;
    const againMs = await this.shard.alarm(scheduled);
    if (life === this.life) {
      this.#handledMs = null;
      disk.endAlarm(scheduled);
    }
    return againMs;
  }

  /** Delivers the same alarm again: the platform promises at-least-once, not exactly-once. */
  async alarmAgain(): Promise<number | null> {
    const scheduled = this.disk.durableAlarmMs ?? 0;
    const life = this.life;
    this.#handledMs = scheduled;
    const againMs = await this.shard.alarm(scheduled);
    if (life === this.life) this.#handledMs = null;
    return againMs;
  }
}
