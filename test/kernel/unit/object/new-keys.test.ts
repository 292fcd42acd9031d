import { afterEach, describe, expect, it, vi } from "vitest";
import { recordId } from "../../../../src/kernel/record/units.ts";
import { countFor } from "../../../../src/kernel/request/scope.ts";
import { CLIENT_ADDRESS } from "../../../../src/kernel/request/client-address.ts";
import { type RateLimiter, NewKeyLimiter } from "../../../../src/kernel/new-keys/new-keys.ts";
import { ObjectTimers } from "../../../../src/kernel/object/timers.ts";

const COUNT = { binding: "NEW_KEYS", caller: "alice" };
const ONE = recordId("a".repeat(64));
const OTHER = recordId("b".repeat(64));

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

function counting(limit: RateLimiter["limit"] | null) {
  const calls: string[] = [];
  const limiter: RateLimiter | null =
    limit === null
      ? null
      : {
          limit(options) {
            calls.push(options.key);
            return limit(options);
          },
        };
  const log = vi.spyOn(console, "error").mockReturnValue();
  return { newKeys: new NewKeyLimiter(() => limiter, new ObjectTimers()), calls, log };
}

describe("new keys", () => {
  it("are counted by caller, and refused when the limiter refuses", async () => {
    const { newKeys, calls } = counting(({ key }) => Promise.resolve({ success: key === "alice" }));
    expect(await newKeys.mayBegin(ONE, COUNT)).toBe(true);
    expect(await newKeys.mayBegin(OTHER, { ...COUNT, caller: "bob" })).toBe(false);
    expect(calls).toEqual(["alice", "bob"]);
  });

  it("are counted once for all requests that begin the same key together, and again later", async () => {
    const { newKeys, calls } = counting(() => Promise.resolve({ success: true }));
    const together = [newKeys.mayBegin(ONE, COUNT), newKeys.mayBegin(ONE, COUNT), newKeys.mayBegin(OTHER, COUNT)];
    expect(await Promise.all(together)).toEqual([true, true, true]);
    expect(calls).toHaveLength(2);
    await newKeys.mayBegin(ONE, COUNT);
    expect(calls).toHaveLength(3);
  });

  it.each([
    ["is missing", null],
    ["fails", () => Promise.reject(new Error("limiter down"))],
    [
      "throws",
      (): never => {
        throw new Error("limiter down");
      },
    ],
  ])("are begun if the limiter %s, which is logged once", async (_what, limit) => {
    const { newKeys, log } = counting(limit);
    expect(await newKeys.mayBegin(ONE, COUNT)).toBe(true);
    expect(await newKeys.mayBegin(OTHER, COUNT)).toBe(true);
    expect(log).toHaveBeenCalledTimes(1);
    expect(log).toHaveBeenCalledWith(
      expect.objectContaining({ message: "new keys are not limited", binding: "NEW_KEYS" }),
    );
  });

  it("are begun if the limiter does not answer", async () => {
    vi.useFakeTimers();
    const { newKeys, log } = counting(() => new Promise(() => undefined));
    const answer = newKeys.mayBegin(ONE, COUNT);
    await vi.advanceTimersByTimeAsync(1100);
    expect(await answer).toBe(true);
    expect(log).toHaveBeenCalledTimes(1);
  });

  it("of a limiter that recovers are limited again, and its next failure is logged again", async () => {
    const answers = [false, true, false];
    const { newKeys, log } = counting(() =>
      answers.shift() === true ? Promise.resolve({ success: false }) : Promise.reject(new Error("down")),
    );
    expect(await newKeys.mayBegin(ONE, COUNT)).toBe(true);
    expect(await newKeys.mayBegin(ONE, COUNT)).toBe(false);
    expect(await newKeys.mayBegin(ONE, COUNT)).toBe(true);
    expect(log).toHaveBeenCalledTimes(2);
  });
});

describe("the caller", () => {
  const SETTING = "NEW_KEYS";
  const callerOf = async (scope: readonly (string | null)[], address: string): Promise<string> =>
    (await countFor(SETTING, scope, new Headers({ [CLIENT_ADDRESS]: address }))).caller;

  it.each([
    [["header:authorization", "Bearer a"]],
    [["header:authorization", null, "cookie:session", "s"]],
    [["ip", "192.0.2.1"]],
  ])("is all of the scope where it shows somebody, wherever he is: %j", async (scope) => {
    expect(await callerOf(scope, "192.0.2.7")).toBe(await callerOf(scope, "192.0.2.8"));
    expect(await callerOf(scope, "192.0.2.7")).not.toBe(await callerOf([...scope, "host", "api.example"], "192.0.2.7"));
  });

  it.each([[[]], [["header:authorization", null]], [["header:authorization", null, "host", "api.example"]]])(
    "has its address where the scope shows nobody: %j",
    async (scope) => {
      expect(await callerOf(scope, "192.0.2.7")).toBe(await callerOf(scope, "192.0.2.7"));
      expect(await callerOf(scope, "192.0.2.7")).not.toBe(await callerOf(scope, "192.0.2.8"));
    },
  );

  it.each([
    ["where it is the scope", (address: string) => callerOf(["ip", address], "192.0.2.7")],
    ["where the scope shows nobody", (address: string) => callerOf([], address)],
  ])("is a whole network of IPv6, and one address of IPv4, %s", async (_, named) => {
    const neighbours = Array.from({ length: 100 }, (_value, at) => `2001:db8:1:2::${at.toString(16)}`);
    expect(new Set(await Promise.all(neighbours.map(named))).size).toBe(1);
    expect(await named("2001:db8:1:2::1")).not.toBe(await named("2001:db8:1:3::1"));
    expect(await named("192.0.2.1")).not.toBe(await named("192.0.2.2"));
    expect(await named("::ffff:192.0.2.1")).not.toBe(await named("::ffff:192.0.2.2"));
  });
});
