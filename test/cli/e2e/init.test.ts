// `onceway init`: checks the file that it writes with `onceway check` and with wrangler itself.

import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { parse } from "smol-toml";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TerminalDialogue } from "../../../src/cli/ask.ts";
import { init } from "../../../src/cli/init.ts";
import { wranglerToml } from "../../../src/cli/init-file.ts";
import { USUAL } from "../../../src/cli/init-plan.ts";
import { askWhatIsMissing } from "../../../src/cli/init-questions.ts";
import { checkWranglerConfig } from "../../../src/cli/check/file.ts";
import { callOnceway } from "../../support/command-line-here.ts";
import { spawnWrangler } from "../../support/wrangler.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "onceway-init-"));
});
afterAll(() => rm(folder, { recursive: true }));

const PATHS = { main: "./src/index.ts", schema: "./schema.json", settings: "./README.md" };
const ORIGIN = ["--origin", "https://api.example.com/base"];
const ANSWERS = [...ORIGIN, "--near", "enam", "--route", "/v1/payments/*", "--route", "/v1/orders/:id"];

describe("the written file", () => {
  it("passes the check and a deployment's dry run", async () => {
    const file = join(folder, "deployable.toml");
    const written = await callOnceway(["init", file, ...ANSWERS, "--name", "pay-gateway"]);
    expect(written).toMatchObject({ code: 0, stderr: "" });
    expect(written.stdout).toContain(`npx wrangler deploy --config ${file}`);

    const checked = await callOnceway(["check", file]);
    expect(checked).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^note\[origin-placeholder\][^]*\n1 note\n$/),
    });
    expect(checked.stdout).toMatch(
      /\/v1\/payments\/\* +POST,PATCH +https:\/\/api\.example\.com\/base +required .* hold /,
    );

    const wrangler = await spawnWrangler(["deploy", "--dry-run", "--config", file], folder);
    await wrangler.exited;
    expect(wrangler.output()).toContain("env.KEY_SHARD (KeyShard)");
    expect(wrangler.output()).toContain("--dry-run: exiting now.");
    // Of what is bundled, nothing is missing or uncertain.
    expect(wrangler.output()).not.toMatch(/WARNING|ERROR/);
  });

  it("is a whole project where a folder is named, and no file that is there is overwritten", async () => {
    const project = join(folder, "project");
    const made = await callOnceway(["init", project, ...ANSWERS]);
    expect(made).toMatchObject({ code: 0, stderr: "" });
    expect(await readFile(join(project, "src/index.ts"), "utf8")).toContain('from "onceway/worker"');
    expect((await stat(join(project, ".dev.vars"))).mode & 0o777).toBe(0o600);
    const checked = await callOnceway(["check", join(project, "wrangler.toml")]);
    expect(checked).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^note\[origin-placeholder\][^]*\n1 note\n$/),
    });
    await rm(join(project, "wrangler.toml"));
    const refused = await callOnceway(["init", project, ...ANSWERS]);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("src/index.ts already exists");
  });

  it.each(["retry", "hold"] as const)("says what unknown = %s means", (unknown) => {
    const plan = { ...USUAL, name: "gateway", origin: "http://127.0.0.1:3000", routes: ["/"], unknown, paths: PATHS };
    const [checked] = checkWranglerConfig(parse(wranglerToml(plan)));
    expect(checked?.problems).toEqual([]);
    expect(checked?.config?.routes[0]?.rules.policy.unknown).toBe(unknown);
  });
});

describe("a project with a wrangler.jsonc", () => {
  const OWN = `{
\t// The Worker that was here before.
\t"name": "shop",
\t"main": "src/shop.ts",
\t"compatibility_date": "2026-11-01",
\t"compatibility_flags": ["nodejs_compat"],
\t"workers_dev": true,
}
`;

  it("is told what its file lacks, gets it with --force, and keeps the rest", async () => {
    const project = await mkdtemp(join(folder, "jsonc-"));
    const file = join(project, "wrangler.jsonc");
    await writeFile(file, OWN);
    await mkdir(join(project, "src"));
    const program =
      'import { createOnceway } from "onceway";\nexport { KeyShard } from "onceway";\nexport default createOnceway();\n';
    await writeFile(join(project, "src/shop.ts"), program);
    const refused = await callOnceway(["init", project, ...ANSWERS]);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain('"class_name": "KeyShard"');
    expect(await readFile(file, "utf8")).toBe(OWN);

    const made = await callOnceway(["init", project, ...ANSWERS, "--force"]);
    expect(made).toMatchObject({ code: 0, stderr: "" });
    expect(made.stdout).toContain("src/shop.ts was left as it is");
    expect(await readFile(join(project, "src/shop.ts"), "utf8")).toBe(program);
    const text = await readFile(file, "utf8");
    for (const line of OWN.split("\n").filter((one) => !one.includes("flags"))) expect(text).toContain(line);
    expect(text).toContain('\t"durable_objects": {');
    expect(await readdir(project)).not.toContain("wrangler.toml");
    expect(await callOnceway(["check", file])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("/v1/orders/:id"),
    });
    // Once more adds nothing.
    await callOnceway(["init", project, ...ANSWERS, "--force"]);
    expect(await readFile(file, "utf8")).toBe(text);
  });

  it("may have one written alone, which passes the check and a deployment's dry run", async () => {
    const file = join(folder, "deployable.jsonc");
    expect(await callOnceway(["init", file, ...ANSWERS])).toMatchObject({ code: 0, stderr: "" });
    expect(await callOnceway(["check", file])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("fine, 2 protected"),
    });
    const wrangler = await spawnWrangler(["deploy", "--dry-run", "--config", file], folder);
    await wrangler.exited;
    expect(wrangler.output()).toContain("env.KEY_SHARD (KeyShard)");
    expect(wrangler.output()).not.toMatch(/WARNING|ERROR/);
  });

  it("is not touched if it is not valid", async () => {
    const project = await mkdtemp(join(folder, "invalid-"));
    await writeFile(join(project, "wrangler.jsonc"), '{ "name": shop }');
    const refused = await callOnceway(["init", project, ...ANSWERS, "--force"]);
    expect(refused).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/jsonc:1:11: the file is not valid JSON/),
    });
    expect(await readdir(project)).toEqual(["wrangler.jsonc"]);
  });
});

describe("refusals", () => {
  it.each([
    ["wrangler.jsonc", '{ "durable_objects": null }', "wrangler.jsonc: durable_objects: must be an object"],
    ["wrangler.json", '{ "vars": "text", "migrations": {} }', "wrangler.json: migrations: must be a list"],
    ["wrangler.jsonc", '{ "migrations": [{ "tag": "v1", "new_classes": ["KeyShard"] }] }', "without SQLite"],
    ["package.json", "{", "package.json: is not a JSON object: mend it first"],
    ["package.json", "[]", "package.json: is not a JSON object: mend it first"],
    ["package.json", '{ "scripts": null }', "package.json: scripts must be an object: mend it first"],
    [".gitignore/no-file", "", ".gitignore: cannot be read"],
  ])("writes nothing beside an odd %s, and says why: %s", async (name, text, reported) => {
    const project = await mkdtemp(join(folder, "odd-"));
    await mkdir(dirname(join(project, name)), { recursive: true });
    await writeFile(join(project, name), text);
    for (const force of [[], ["--force"]]) {
      const refused = await callOnceway(["init", project, ...ANSWERS, ...force]);
      // Without --force an existing file is shown what it lacks, if that can be said.
      if (force.length === 0 && refused.code === 1) continue;
      expect(refused).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(reported) });
      expect(refused.stderr).not.toMatch(/^ {4}at /m);
    }
    expect(await readFile(join(project, name), "utf8")).toBe(text);
    expect(await readdir(project)).toHaveLength(1);
  });

  it("makes no wrangler.toml below a wrangler.json, which Wrangler would read instead", async () => {
    const above = await mkdtemp(join(folder, "json-"));
    await writeFile(join(above, "wrangler.json"), "{}");
    const refused = await callOnceway(["init", join(above, "gateway"), ...ANSWERS]);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(
      /Wrangler would read .*wrangler\.json instead of a wrangler\.toml in .*gateway: run npx onceway init/,
    );
    expect(await readdir(above)).toEqual(["wrangler.json"]);
  });

  it("does not overwrite a file, unless --force is given", async () => {
    const file = join(folder, "mine.toml");
    await writeFile(file, "mine");
    const refused = await callOnceway(["init", file, ...ANSWERS, "--yes"]);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("--force");
    expect(await readFile(file, "utf8")).toBe("mine");
    expect(await callOnceway(["init", file, ...ANSWERS, "--force"])).toMatchObject({ code: 0 });
    expect(await readFile(file, "utf8")).toMatch(/^name = "onceway-init-[a-z0-9]+"$/m);
  });
});

describe("the questions", () => {
  type Keys = readonly (readonly [question: string, typed: string])[];

  /** Types each answer when its question stands there. */
  function dialogueOf(keys: Keys): TerminalDialogue {
    const input = new PassThrough();
    const output = new PassThrough();
    const left = [...keys];
    let shown = "";
    output.on("data", (bytes: Buffer) => {
      shown += bytes.toString();
      const [next] = left;
      if (next === undefined || !shown.includes(next[0])) return;
      left.shift();
      shown = "";
      // Once the question has been drawn, as a person would.
      setImmediate(() => input.write(next[1]));
    });
    return { input, output };
  }

  function answer(keys: Keys): ReturnType<typeof askWhatIsMissing> {
    return askWhatIsMissing({}, "my-gateway", dialogueOf(keys));
  }

  it("take Enter for the usual answer, eight times", async () => {
    const keys = [
      "Which API",
      "Which paths",
      "who calls it",
      "Which header",
      "whether it happened",
      "does the API run",
    ];
    const answers = await answer([...keys, "do you search for", "What is the Worker called"].map((one) => [one, "\r"]));
    expect(answers).toEqual({
      ...USUAL,
      origin: "https://api.example.com",
      routes: ["/v1/payments/*"],
      name: "my-gateway",
    });
  });

  it("are ten at most", async () => {
    const down = "\u001b[B";
    const answers = await answer([
      ["Which API", "https://api.acme.com\r"],
      ["Which paths", "/v1/orders\r"],
      ["who calls it", `${down}\r`],
      ["Who issues", "https://login.acme.com\r"],
      ["For whom", "\r"],
      ["whether it happened", `${down}\r`],
      ["tell of a key", "/v1/orders/by-key/{key}\r"],
      ["does the API run", `${down}\r`],
      ["do you search for", "json:/number\r"],
      ["What is the Worker called", "\r"],
    ]);
    expect(answers).toEqual({
      origin: "https://api.acme.com",
      routes: ["/v1/orders"],
      caller: { kind: "token", issuer: "https://login.acme.com", audience: "https://api.acme.com" },
      unknown: "verify",
      verify: "/v1/orders/by-key/{key}",
      near: "enam",
      label: "json:/number",
      name: "my-gateway",
    });
  });

  it("ask for missing settings, and again after an invalid answer", async () => {
    const answers = await answer([
      ["Which API", "nonsense\r"],
      ["must be an absolute http or https URL", "\u0015https://api.example.com\r"],
      ["Which paths", "/v1/payments/* /v1/orders\r"],
      ["who calls it", "\u001b[B\u001b[B\r"],
      ["Which cookie", "\r"],
      ["whether it happened", "\u001b[B\u001b[B\r"],
      ["does the API run", "\r"],
      ["do you search for", "\r"],
      ["What is the Worker called", "\r"],
    ]);
    expect(answers).toEqual({
      origin: "https://api.example.com",
      routes: ["/v1/payments/*", "/v1/orders"],
      caller: { kind: "cookie", name: "session" },
      unknown: "retry",
      verify: null,
      near: null,
      label: null,
      name: "my-gateway",
    });
  });

  describe("beside a wrangler.jsonc", () => {
    const own = '{ "name": "shop", "main": "src/shop.ts", "compatibility_date": "2026-06-01" }';
    const keys: Keys = [
      ["Which paths", "\r"],
      ["who calls it", "\u001b[B\r"],
      ["Who issues", "https://login.acme.com\r"],
      ["For whom", "shop\r"],
      ["whether it happened", "\r"],
      ["does the API run", "\r"],
      ["do you search for", "\r"],
    ];

    async function shop(): Promise<string> {
      const project = await mkdtemp(join(folder, "shop-"));
      await writeFile(join(project, "wrangler.jsonc"), own);
      await mkdir(join(project, "src"));
      await writeFile(join(project, "src/shop.ts"), "");
      return project;
    }

    it("come before the file may be changed, which Enter allows; its name is not asked for", async () => {
      const project = await shop();
      await init(project, { hono: true }, dialogueOf([...keys, ["Add the gateway", "\r"]]));
      const text = await readFile(join(project, "wrangler.jsonc"), "utf8");
      expect(JSON.parse(text)).toMatchObject({
        name: "shop",
        compatibility_date: "2026-10-01",
        vars: { IDEMPOTENCY: { scope: ["identity:user"] }, IDENTITIES: { user: { jwt: { audience: "shop" } } } },
      });
    });

    it("decide what is shown to whoever writes it by hand", async () => {
      const project = await shop();
      const reported = init(project, { hono: true }, dialogueOf([...keys, ["Add the gateway", "n"]]));
      await expect(reported).rejects.toThrow(
        /was not changed\. It lacks this[^]*"identity:user"[^]*"audience": "shop"/,
      );
      expect(await readFile(join(project, "wrangler.jsonc"), "utf8")).toBe(own);
    });
  });

  it("end on Ctrl-C, and nothing is written", async () => {
    await expect(answer([["Which API", "\u0003"]])).rejects.toThrow("Cancelled: nothing was done.");
  });
});
