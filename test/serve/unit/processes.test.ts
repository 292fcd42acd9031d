// The files of src/serve/processes agree with each other and with the gateway.

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { problemResponse } from "../../../src/kernel/request/problem-response.ts";
import { readOptions } from "../../../src/serve/options.ts";

const read = (name: string): string =>
  readFileSync(new URL(`../../../src/serve/processes/${name}`, import.meta.url), "utf8");

it("HAProxy's answer for a lost process is the gateway's own problem, byte for byte, but for the name of an occurrence", async () => {
  const own = problemResponse({ code: "store-unavailable" }, null);
  const [head = "", body = ""] = read("store-unavailable.http").split("\n\n");
  const [line = "", ...fields] = head.split("\n");
  expect(line).toBe(`HTTP/1.1 ${own.status} Service Unavailable`);
  const headers = new Headers(
    fields.map((field): [string, string] => [
      field.slice(0, field.indexOf(":")),
      field.slice(field.indexOf(":") + 1).trim(),
    ]),
  );
  expect(headers.get("content-length")).toBe(String(Buffer.byteLength(body)));
  headers.delete("content-length");
  expect([...headers]).toEqual([...own.headers]);
  // A file is the same each time, and the gateway's log has nothing of it.
  expect(body).toBe((await own.text()).replace(/"instance":"[^"]+",/, ""));
});

it("the unit starts each process where HAProxy looks for it", () => {
  const [, command = ""] = /^ExecStart=\S+ src\/cli\/onceway\.ts serve (.*)$/m.exec(read("onceway@.service")) ?? [];
  const proxy = read("haproxy.cfg");
  for (const number of [0, 1]) {
    const options = readOptions(command.replaceAll("%i", `0${number}`).split(" "));
    expect(options.state).toBe(`/var/lib/onceway/0${number}`);
    expect(options.process).toBe(number);
    expect(proxy).toContain(
      `backend process_${number} from process\n  http-request set-header Onceway-Process ${number}\n  server gateway ${options.host}:${options.port} tcp-ut 60s\n`,
    );
    expect(proxy).toContain(
      `  server gateway_${number} ${options.host}:${options.port} check maxconn 3000 tcp-ut 60s\n`,
    );
    expect(proxy).toContain(
      `backend operators_${number} from http\n  server gateway ${options.operatorHost}:${options.operatorPort}\n`,
    );
  }
});

it("both units keep the state from other users", () => {
  const page = readFileSync(new URL("../../../src/serve/README.md", import.meta.url), "utf8");
  for (const unit of [read("onceway@.service"), page]) {
    expect(unit).toMatch(/^StateDirectory=onceway\S*\nStateDirectoryMode=0700\nUMask=0077$/m);
  }
});
