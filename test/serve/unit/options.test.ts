import { describe, expect, it } from "vitest";

import { hostAndPort, readOptions } from "../../../src/serve/options.ts";

describe("the command line of serve", () => {
  it("has a default for everything", () => {
    expect(readOptions([])).toEqual({
      command: "serve",
      config: null,
      env: null,
      state: ".onceway/state",
      host: "127.0.0.1",
      port: 8787,
      operatorPort: null,
      operatorHost: "127.0.0.1",
      process: null,
      secretsFile: null,
      secretNames: [],
      graceMs: 30_000,
    });
  });

  it("accepts each of its options", () => {
    const args = ["--config", "a.toml", "--env", "local", "--state", "/s", "--host", "[::1]", "--port", "0"];
    const operators = ["--operator-port", "8788", "--operator-host", "[::]", "--process", "01"];
    const more = [...operators, "--secrets", ".dev.vars", "--secret", "A", "--secret", "B", "--grace", "2m"];
    expect(readOptions([...args, ...more])).toEqual({
      command: "serve",
      config: "a.toml",
      env: "local",
      state: "/s",
      host: "::1",
      port: 0,
      operatorPort: 8788,
      operatorHost: "::",
      process: 1,
      secretsFile: ".dev.vars",
      secretNames: ["A", "B"],
      graceMs: 120_000,
    });
    expect(readOptions(["health"]).command).toBe("health");
    expect(readOptions(["health", "--help"]).command).toBe("help");
  });

  it.each([
    [["--operator-port", "0"], "--operator-port must be a number from 1 to 65535"],
    [["--port", "65536"], "--port must be a number from 0 to 65535"],
    [["--port", "http"], "--port must be a number from 0 to 65535"],
    [["--grace", "30"], '--grace must be a number with a unit (ms, s, m, h, d): write "30s"'],
    [["--process", "one"], '--process must be a number from 0 to 999, not "one"'],
    [["--nonsense"], "--nonsense"],
    [["start"], 'unknown command "start"'],
    [["health", "now"], 'unknown command "health now"'],
  ])("refuses %j", (args, message) => {
    expect(() => readOptions(args)).toThrow(message);
  });
});

it.each([
  ["127.0.0.1", "127.0.0.1:80"],
  ["::1", "[::1]:80"],
  ["localhost", "localhost:80"],
])("puts the address %s and a port together", (host, address) => {
  expect(hostAndPort(host, 80)).toBe(address);
});
