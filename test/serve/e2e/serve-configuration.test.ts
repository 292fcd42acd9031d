// What `npm run serve` refuses to run, and how it passes secrets.

import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { freePort, untilAnswers } from "../../support/ports.ts";
import { projectDir } from "../../support/wrangler.ts";
import { cleanUp, serve, writeDeployment } from "../../support/e2e/serve-process.ts";

afterEach(cleanUp);

const ADMIN_TOKEN = "s3cret".repeat(10);

it("refuses a configuration with problems, and names every one", async () => {
  const ROUTES = [
    { path: "/v1/pay", lock: "5s" },
    { path: "/v1/orders", kye: "optional" },
  ];
  const { args, stateDir } = await writeDeployment({ vars: { IDEMPOTENCY: { origin: "http://127.0.0.1:9" }, ROUTES } });
  const gateway = serve(args);
  expect(await gateway.exited).toBe(1);
  expect(gateway.output()).toContain("ROUTES[0].lock: must exceed timeout (30s)");
  expect(gateway.output()).toContain('ROUTES[1].kye: unknown setting; did you mean "key"');
  expect(gateway.output()).toMatch(/\n2 problems\n$/);
  await expect(readdir(stateDir)).rejects.toThrow("ENOENT");
});

it("runs one environment, warns that its bucket does not exist here, and says how to have a console", async () => {
  const env = {
    local: {
      vars: { IDEMPOTENCY: { origin: "http://127.0.0.1:9" }, ROUTES: [{ path: "/local" }] },
      durable_objects: { bindings: [{ name: "KEY_SHARD", class_name: "KeyShard" }] },
      r2_buckets: [{ binding: "BODIES", bucket_name: "bodies" }],
    },
  };
  const { args } = await writeDeployment({ vars: { IDEMPOTENCY: {}, ROUTES: [{ path: "/" }] }, env });
  const gateway = serve([...args, "--env", "local"]);
  const { url } = await gateway.listening();
  expect(gateway.output()).toContain(
    "BODIES exists only on Cloudflare: responses over max_response_body are passed on",
  );
  expect(gateway.output()).toContain(
    "nobody has a token: write ADMIN_TOKEN=… to a file, and start with --secrets FILE",
  );
  const policy = await fetch(`${url}/.well-known/idempotency`);
  expect(await policy.text()).toContain("/local");
});

it("passes secrets only to the Worker: not to output, command line or files", async () => {
  const [fromFile, fromEnvironment] = ['s3cret "quoted" \\ file', "s3cret-environment"];
  const { dir, stateDir, args } = await writeDeployment({
    main: "teller.ts",
    vars: { IDEMPOTENCY: { origin: "http://127.0.0.1:9" }, ROUTES: [{ path: "/" }], TOKEN: "a variable" },
  });
  await writeFile(
    join(dir, "teller.ts"),
    `import { env } from "cloudflare:workers";
    export { KeyShard } from ${JSON.stringify(join(projectDir, "src/worker/key-shard.ts"))};
    export default { fetch: () => Response.json([env.TOKEN, env.OTHER]) };`,
  );
  await writeFile(join(dir, "secrets"), `TOKEN='${fromFile}'\nADMIN_TOKEN=${ADMIN_TOKEN}\n`);
  const gateway = serve([...args, "--secrets", join(dir, "secrets"), "--secret", "OTHER"], { OTHER: fromEnvironment });
  const { url, workerd } = await gateway.listening();
  expect(gateway.output()).toContain(`the operator API and the console are at ${url}/_onceway\n`);
  expect(await (await fetch(url)).json()).toEqual([fromFile, fromEnvironment]);

  const commandLines = await Promise.all([gateway.pid, workerd].map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8")));
  const names = await readdir(stateDir, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const texts = await Promise.all(files.map((file) => readFile(file, "latin1")));
  expect(files.length).toBeGreaterThan(2);
  expect([gateway.output(), ...commandLines, ...texts].filter((text) => text.includes("s3cret"))).toEqual([]);
});

it("refuses what does not run here, and secrets that are missing or are none, by the file's name and theirs", async () => {
  const vars = { IDEMPOTENCY: {}, ROUTES: [{ path: "/a", scope: ["ip"] }] };
  const { dir, args } = await writeDeployment({
    routes: ["api.example.com/*"],
    vars,
    secrets: { required: ["ADMIN_TOKEN"] },
  });
  await writeFile(join(dir, "secrets"), "ROUTES_2=[]\n");
  const gateway = serve([...args, "--secrets", join(dir, "secrets")], { ADMIN_TOKEN: "" });
  expect(await gateway.exited).toBe(1);
  for (const path of [
    "wrangler.toml: IDEMPOTENCY.origin",
    "wrangler.toml: ROUTES[0].scope",
    "ADMIN_TOKEN",
    "ROUTES_2",
  ]) {
    expect(gateway.output()).toContain(`${path}: `);
  }
  expect(gateway.output()).toMatch(/\n4 problems\n$/);
});

it("refuses a configuration that its secrets do not fit", async () => {
  const vars = { IDEMPOTENCY: { origin: "http://127.0.0.1:9" }, ROUTES: [{ path: "/", encrypt_responses: true }] };
  const { args } = await writeDeployment({ vars });
  const secrets = { ENCRYPTION_SECRET: "short", ADMIN_TOKEN: "short" };
  const short = serve([...args, "--secret", "ENCRYPTION_SECRET", "--secret", "ADMIN_TOKEN"], secrets);
  expect(await short.exited).toBe(1);
  expect(short.output()).toContain("wrangler.toml: ENCRYPTION_SECRET: must be at least 32 visible ASCII characters");
  expect(short.output()).toContain("wrangler.toml: ADMIN_TOKEN: ");
  expect(short.output()).toMatch(/\n2 problems\n$/);
});

it("gives operators a port of their own, and serves them nowhere else then", async () => {
  const routes = [{ path: "/v1/pay" }];
  const vars = { IDEMPOTENCY: { origin: "http://127.0.0.1:9" }, ROUTES: routes };
  const { args } = await writeDeployment({ vars });
  const port = await freePort();
  const gateway = serve([...args, "--secret", "ADMIN_TOKEN", "--operator-port", String(port)], { ADMIN_TOKEN });
  const { url } = await gateway.listening();
  expect(gateway.output()).toContain(`the operator API and the console are on http://127.0.0.1:${port} only`);
  await untilAnswers({ port, path: "/", timeoutMs: 20_000, failure: () => null });
  const at = async (base: string): Promise<number> =>
    (await fetch(`${base}/_onceway/health`, { headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } })).status;
  expect([await at(`http://127.0.0.1:${port}`), await at(url)]).toEqual([200, 404]);
});
