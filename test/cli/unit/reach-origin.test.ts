// `onceway check` looks for the origins from the machine that it runs on, and sends them nothing.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { callOnceway } from "../../support/command-line-here.ts";
import { freePort } from "../../support/ports.ts";
import { SOUND_FILE } from "./wrong-files.ts";

/** The sound file, with this origin. */
function fileWith(origin: string): string {
  const folder = mkdtempSync(join(tmpdir(), "onceway-origins-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "wrangler.toml");
  writeFileSync(file, SOUND_FILE.replace(/^origin = .*$/m, `origin = "${origin}"`));
  return file;
}

const check = (origin: string, ...args: readonly string[]) =>
  callOnceway(["check", fileWith(origin), "--json", ...args]);

it("warns of a host that does not exist", async () => {
  const { stdout } = await check("https://api.nobody.invalid", "--online");
  expect(stdout).toContain('"message":"there is no host \\"api.nobody.invalid\\"","help":"write your API\'s address');
});

it("notes that nothing listens, with the command that shows it", async () => {
  const port = await freePort();
  const { stdout } = await check(`http://127.0.0.1:${port}`, "--online");
  expect(stdout).toContain(
    `nothing answers at 127.0.0.1:${port} from this machine. Does it listen? Try: curl -i http://127.0.0.1:${port}/`,
  );
});

it("says nothing of one that takes a connection, and sends it nothing", async () => {
  let bytes = 0;
  const closed = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    socket.on("data", (data) => (bytes += data.length));
    socket.once("close", () => closed.resolve());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === "object" ? address?.port : null;
  const { stdout } = await check(`http://127.0.0.1:${port}`, "--online");
  await closed.promise;
  expect(stdout).not.toContain("origin-unreachable");
  expect(bytes).toBe(0);
});

it("looks for none with --offline, and never for an example", async () => {
  expect((await check("https://api.nobody.invalid")).stdout).not.toContain("origin-unreachable");
  const { stdout } = await check("https://api.example.com", "--online");
  expect(stdout).toContain('\\"api.example.com\\" is only an example');
  expect(stdout).not.toContain("origin-unreachable");
});
