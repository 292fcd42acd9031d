// The alarm's times, with a storage that only records them. test/kernel/integration/exchange/alarm.test.ts shows what the platform
// does with them.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type EpochMs, epochMs } from "../../../../src/kernel/record/units.ts";
import { ObjectAlarm } from "../../../../src/kernel/object/alarm.ts";

const NOW = 1_800_000_000_000;
const at = (ms: number): EpochMs => epochMs(NOW + ms);

interface AlarmScene {
  readonly alarm: ObjectAlarm;
  readonly set: readonly number[];
}

/** `platform`: when the alarm comes, as the platform knows. */
function alarmWith(nextDeadline: () => EpochMs | null, platform: EpochMs | null = null): AlarmScene {
  const set: number[] = [];
  const storage = {
    getAlarm: () => Promise.resolve(platform),
    setAlarm: (time: number): Promise<void> => {
      set.push(time - NOW);
      return Promise.resolve();
    },
  };
  return { alarm: new ObjectAlarm(storage, nextDeadline), set };
}

beforeEach(() => {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("the alarm", () => {
  it("moves only to a sooner time", () => {
    const { alarm, set } = alarmWith(() => null);
    alarm.moveTo(at(500));
    alarm.moveTo(at(900));
    alarm.moveTo(at(300));
    expect(set).toEqual([500, 300]);
  });

  it("is set from the ledger by an instance that does not know where it stands", () => {
    const { alarm, set } = alarmWith(() => at(100));
    alarm.moveTo(at(500));
    expect(set).toEqual([100]);
  });

  it("is set again when it has not come for two minutes, as if it had been dropped", () => {
    const { alarm, set } = alarmWith(() => at(10));
    alarm.moveTo(at(10));
    vi.setSystemTime(NOW + 120_000);
    alarm.moveTo(at(130_000));
    expect(set).toEqual([10]);
    vi.setSystemTime(NOW + 120_011);
    alarm.moveTo(at(130_000));
    expect(set).toEqual([10, 10]);
  });

  it.each([
    ["the clock runs on", 50, 51],
    ["the clock stands still", 0, 41],
    ["the clock has gone back", -30, 41],
  ])("is re-armed for no earlier time than it came for: %s", (_what, passedMs, expected) => {
    const { alarm, set } = alarmWith(() => at(40));
    vi.setSystemTime(NOW + passedMs);
    alarm.rearm(at(40));
    alarm.retryAt(at(-100), at(40));
    expect(set).toEqual([expected, expected]);
  });

  it("is not set where nothing has a deadline, and then moves again", () => {
    const { alarm, set } = alarmWith(() => null);
    alarm.moveTo(at(10));
    alarm.rearm(at(10));
    alarm.moveTo(at(700));
    expect(set).toEqual([10, 700]);
  });

  it("is set again after a request that has written nothing, if the platform has dropped it", async () => {
    const { alarm, set } = alarmWith(() => at(-100));
    expect(alarm.isUncertain).toBe(true);
    await alarm.restore();
    expect([set, alarm.isUncertain]).toEqual([[-100], false]);
    vi.setSystemTime(NOW + 120_000);
    expect(alarm.isUncertain).toBe(true);
  });

  it("is asked for once where the platform has it, or nothing is due", async () => {
    const known = alarmWith(() => at(10), at(5));
    await known.alarm.restore();
    known.alarm.moveTo(at(7));
    expect([known.set, known.alarm.isUncertain]).toEqual([[], false]);
    const idle = alarmWith(() => null);
    await idle.alarm.restore();
    expect([idle.set, idle.alarm.isUncertain]).toEqual([[], false]);
    vi.setSystemTime(NOW + 120_000);
    expect(idle.alarm.isUncertain).toBe(true);
  });

  it("that is set while the platform is asked stays as it is", async () => {
    const { alarm, set } = alarmWith(() => at(10), at(500));
    const restored = alarm.restore();
    alarm.moveTo(at(10));
    await restored;
    alarm.moveTo(at(20));
    expect(set).toEqual([10]);
  });
});
