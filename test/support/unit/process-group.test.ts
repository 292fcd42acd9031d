import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { freePort, untilAnswers, untilRefused } from "../ports.ts";
import { spawnGroup } from "../process-group.ts";

/** A leader whose child listens. Both ignore SIGTERM if asked to. */
function serverScript(port: number, stubborn: boolean): string {
  const ignore = stubborn ? `process.on("SIGTERM", () => {});` : "";
  const server = `${ignore}require("http").createServer((_, r) => r.end()).listen(${port}, "127.0.0.1")`;
  return `${ignore}require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(server)}], { stdio: "inherit" }); setInterval(() => {}, 1e6)`;
}

const ready = (port: number): Promise<void> =>
  untilAnswers({ port, path: "/", timeoutMs: 20_000, failure: () => null });
const surroundings = { cwd: process.cwd(), env: process.env };

describe("a process group", () => {
  it.each(["kill9", "stop"] as const)("ends the leader's children too, by %s", async (how) => {
    const port = await freePort();
    const group = await spawnGroup(process.execPath, ["-e", serverScript(port, false)], surroundings);
    await ready(port);
    await group[how]();
    await untilRefused(port);
    expect(group.hasExited()).toBe(true);
  });

  it("kills processes that ignore SIGTERM", async () => {
    const port = await freePort();
    const group = await spawnGroup(process.execPath, ["-e", serverScript(port, true)], surroundings);
    await ready(port);
    await group.stop();
    await untilRefused(port);
    expect(group.hasExited()).toBe(true);
  });

  it("does not outlive the test process, even one that is killed", async () => {
    const port = await freePort();
    const modulePath = JSON.stringify(new URL("../process-group.ts", import.meta.url).href);
    const args = JSON.stringify(["-e", serverScript(port, false)]);
    const script = `const { spawnGroup } = await import(${modulePath}); await spawnGroup(process.execPath, ${args}, { cwd: ".", env: process.env });`;
    const parent = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: "inherit" });
    await ready(port);
    parent.kill("SIGKILL");
    await once(parent, "exit");
    await expect(untilRefused(port)).resolves.toBeUndefined();
  });
});
