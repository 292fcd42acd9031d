// The sample seller of @adcp/sdk that its examples hold, as it is, in front of the ad server that comes with them. `bare`: without its own idempotency, as a seller
// that knows nothing of keys but says in get_adcp_capabilities for how long the gateway in front of it keeps them.

import { spawn } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { fileURLToPath } from "node:url";

const [port = "", upstreamPort = "", mode = "own"] = process.argv.slice(2);
const sdk = new URL("node_modules/@adcp/sdk/", import.meta.url);

const source = await readFile(new URL("examples/hello_seller_adapter_non_guaranteed.ts", sdk), "utf8");
const STORE = "idempotency: idempotencyStore,";
if (!source.includes(STORE)) throw new Error("the sample seller has changed: it has no idempotency store");
const text = mode === "bare" ? source.replace(STORE, 'idempotency: "disabled",') : source;

const args = [
  fileURLToPath(new URL("bin/adcp.js", sdk)),
  "mock-server",
  "sales-non-guaranteed",
  "--port",
  upstreamPort,
];
spawn(process.execPath, args, { stdio: "ignore" });

// Packages are found from below node_modules, and Node runs no TypeScript there.
const place = new URL("node_modules/.sample-seller/", import.meta.url);
await mkdir(place, { recursive: true });
const file = new URL(`${mode}.mjs`, place);
await writeFile(file, stripTypeScriptTypes(text, { mode: "transform" }));

// So that it keeps tasks in memory.
Object.assign(process.env, {
  NODE_ENV: "development",
  PORT: port,
  UPSTREAM_URL: `http://127.0.0.1:${upstreamPort}`,
});
await import(file.href);
