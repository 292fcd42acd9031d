// Which gateway and which token an operator's command takes where none is given: only a gateway on this machine gets the one that lies in the folder.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, onTestFinished, vi } from "vitest";
import { localGateway, tokenFor } from "../../../src/cli/operator-options.ts";

const folder = mkdtempSync(join(tmpdir(), "onceway-token-"));
afterAll(() => rmSync(folder, { recursive: true }));
const secrets = join(folder, ".dev.vars");
writeFileSync(secrets, "READ_TOKEN=other\nADMIN_TOKEN='of the folder'\n");

it.each([
  ["http://127.0.0.1:8787", undefined, secrets, "of the folder"],
  ["http://localhost:8787/_onceway", "", secrets, "of the folder"],
  ["http://[::1]:8787", undefined, secrets, "of the folder"],
  ["http://127.0.0.1:8787", "given", secrets, "given"],
  ["https://api.example.com", undefined, secrets, undefined],
  ["https://127.0.0.1.example.com", undefined, secrets, undefined],
  ["http://127.0.0.1:8787", undefined, join(folder, "none"), undefined],
])("%s with %j and %s: %j", (url, given, file, token) => {
  expect(tokenFor(new URL(url), given, file)).toBe(token);
});

it("without a URL, the folder's own gateway is asked, and that is reported; in a folder without one there is none", () => {
  const written = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  onTestFinished(() => written.mockRestore());
  expect(localGateway(secrets)?.href).toBe("http://127.0.0.1:8787/");
  expect(written).toHaveBeenCalledWith(expect.stringContaining("http://127.0.0.1:8787"));
  expect(localGateway(join(folder, "none"))).toBeNull();
});
