// `onceway check` looks for the keys of an issuer, from the machine that it runs on.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { missingKeys } from "../../../../src/features/identities/cli/key-set-look.ts";
import { SOUND_FILE } from "../../../cli/unit/wrong-files.ts";
import { callOnceway } from "../../../support/command-line-here.ts";
import { freePort } from "../../../support/ports.ts";

describe("an issuer's keys", () => {
  /** What the issuer answers, by path; everything else is 404. */
  async function issuerWith(answers: Readonly<Record<string, (issuer: string) => unknown>>): Promise<string> {
    const server = createServer(({ url = "" }, response) => {
      const answer = answers[url];
      response.writeHead(answer === undefined ? 404 : 200).end(JSON.stringify(answer?.(issuer) ?? null));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const address = server.address();
    const issuer = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
    return issuer;
  }

  it("are looked for where the file says", async () => {
    const issuer = await issuerWith({ "/keys": () => ({ keys: [] }) });
    expect(await missingKeys({ issuer, jwks: `${issuer}/keys` })).toBeNull();
  });

  it("are not at a wrong address: check says which one the issuer names", async () => {
    const issuer = await issuerWith({
      "/keys": () => ({ keys: [] }),
      "/.well-known/openid-configuration": (own) => ({ jwks_uri: `${own}/keys` }),
    });
    const folder = mkdtempSync(join(tmpdir(), "onceway-issuer-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "wrangler.toml");
    const identity = `[vars.IDENTITIES.user]\njwt = { issuer = "${issuer}", audience = "shop", jwks = "${issuer}/wrong" }\n`;
    const text = SOUND_FILE.replace(/^origin = .*$/m, `origin = "${issuer}"\nscope = ["identity:user"]`);
    writeFileSync(file, `${text}\n${identity}`);
    const { stdout } = await callOnceway(["check", file, "--json", "--online"]);
    expect(stdout).toContain('"code":"keys-missing"');
    expect(stdout).toContain(`write jwks = \\"${issuer}/keys\\"`);
  });

  it("may be anywhere for an issuer without discovery, or one that this machine cannot reach", async () => {
    const issuer = await issuerWith({});
    expect(await missingKeys({ issuer, jwks: `${issuer}/keys` })).toContain("it answers 404");
    const jwks = `http://127.0.0.1:${await freePort()}/keys`;
    expect(await missingKeys({ issuer, jwks })).toBeNull();
  });
});
