// `onceway openapi` as its user runs it, on a description with what real ones have: servers with a path and variables, numbers as
// statuses, references, parameters of a path, comments, flow style.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { coversTemplate } from "../../../../src/cli/openapi-operations.ts";
import { callOnceway } from "../../../support/command-line-here.ts";

const SPEC = fileURLToPath(new URL("shop.yaml", import.meta.url));
const CONFIG = fileURLToPath(new URL("shop.toml", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "onceway-openapi-"));
afterAll(() => rmSync(folder, { recursive: true }));

const run = (spec: string, ...args: readonly string[]) => callOnceway(["openapi", spec, "--config", CONFIG, ...args]);

type Tree = { [name: string]: Tree };

/** Overlay Specification 1.0.0, section 4.4.3, for targets that are members of members. */
function applyOverlay(spec: Tree, overlay: { actions: { target: string; update: Tree }[] }): void {
  for (const { target, update } of overlay.actions) {
    let at = spec;
    for (const [, name = ""] of target.matchAll(/\['((?:[^'\\]|\\.)*)'\]/g))
      at = at[name.replaceAll(/\\(.)/g, "$1")] ?? {};
    mergeInto(at, update);
  }
}

function mergeInto(into: Tree, update: Tree): void {
  for (const [name, value] of Object.entries(update)) {
    const old: unknown = into[name];
    if (Array.isArray(old)) old.push(...Object.values(value));
    else if (typeof old === "object" && old !== null && into[name] !== undefined) mergeInto(into[name], value);
    else into[name] = structuredClone(value);
  }
}

/** The description as the overlay makes it. */
function applied(spec: string, overlay: string) {
  const description = parse(spec, { merge: true });
  applyOverlay(description, parse(overlay));
  return description;
}

describe("the overlay", () => {
  it("adds the header, the problems and the statuses of each protected operation, and of no other", async () => {
    const { stdout, stderr, code } = await run(SPEC);
    expect(code).toBe(0);
    const spec = readFileSync(SPEC, "utf8");
    const { paths, components } = applied(spec, stdout);
    const payment = paths["/payments"].post;
    expect(payment.parameters).toEqual([
      { $ref: "#/components/parameters/TraceId" },
      expect.objectContaining({ name: "Idempotency-Key", in: "header", required: true }),
    ]);
    expect(payment.parameters[1].description).toContain("for 36h");
    expect(payment.parameters[1].description).toContain("36 visible ASCII characters that match ^[0-9a-f-]{36}$");
    expect(Object.keys(payment.responses).toSorted()).toEqual(
      ["201", "400", "409", "413", "422", "502", "503", "504", "default"].toSorted(),
    );
    expect(payment.responses["409"]).toEqual({
      description: "Already captured.",
      content: { "application/problem+json": { schema: { $ref: "#/components/schemas/IdempotencyProblem" } } },
    });
    expect(Object.keys(payment.responses["201"].headers)).toContain("Idempotent-Replayed");
    // The path has the header already, in other letters.
    expect(paths["/payments/{id}/refunds"].post.parameters).toBeUndefined();
    const report = paths["/reports"].post;
    expect(report.parameters[0].required).toBe(false);
    expect(report.responses["202"]).toEqual({ $ref: "#/components/responses/IdempotencyAccepted" }); // feature: accepted
    expect(report.responses["409"]).toEqual({ $ref: "#/components/responses/IdempotencyConflictOrReuse" });
    expect(report.responses["422"]).toBeUndefined();
    const isVerified = ({ headers }: Tree): boolean => headers?.["Idempotency-Verified"] !== undefined;
    expect([payment.responses["201"], report.responses["200"]].map(isVerified)).toEqual([false, true]);
    const before = parse(spec);
    expect(paths["/payments"].get).toEqual(before.paths["/payments"].get);
    expect(paths["/health"]).toEqual(before.paths["/health"]);
    const references = [...stdout.matchAll(/"?#\/components\/(\w+)\/(\w+)/g)];
    for (const [, kind = "", name = ""] of references) expect(components[kind]).toHaveProperty(name);
    expect(stderr.split("\n").filter((line) => line !== "")).toEqual([
      `${SPEC}: note: route /v2/* (POST, PATCH) protects no operation here`,
      `${SPEC}: note: POST /payments/{id}/refunds: its 422 is a $ref, so IdempotencyKeyReused was not added to it`,
    ]);
  });

  it("names the description, and has an action for the components and one for each operation", async () => {
    const read = parse((await run(SPEC)).stdout);
    expect(read).toMatchObject({ overlay: "1.0.0", info: { title: "Idempotency keys of Shop", version: "2026-10" } });
    expect(read.actions.map(({ target }: { target: string }) => target)).toEqual([
      "$",
      "$['paths']['/payments']['post']",
      "$['paths']['/payments/{id}/refunds']['post']",
      "$['paths']['/reports']['post']",
    ]);
  });

  it("is JSON if the description is, and goes where it is told", async () => {
    const spec = join(folder, "shop.json");
    const output = join(folder, "out.json");
    writeFileSync(spec, JSON.stringify(parse(readFileSync(SPEC, "utf8"))));
    expect(await run(spec, "--output", output)).toMatchObject({ code: 0, stdout: "" });
    expect(JSON.parse(readFileSync(output, "utf8"))).toEqual(parse((await run(SPEC)).stdout));
  });
});

describe("a description that refers to itself", () => {
  const TEXT = `openapi: 3.1.0
info: { title: Shop, version: "1" }
x-base: &base
  # What all answers have.
  responses: &all
    "201": { description: Made. }
    "400": &bad { description: Bad. }
paths:
  /v2/orders:
    post:
      <<: *base
    patch:
      responses: *all
  /free:
    post:
      <<: *base
    put:
      responses: { "400": *bad }
  /v2/refunds/{id}:
    $ref: "#/components/pathItems/Refund"
  /v2/elsewhere:
    $ref: "./elsewhere.yaml"
components:
  pathItems:
    Refund:
      post:
        responses: { "201": { description: Paid back. } }
`;

  it("is added to where its anchors, merge keys and path items lead, and nowhere else", async () => {
    const spec = join(folder, "anchors.yaml");
    writeFileSync(spec, TEXT);
    const { code, stdout, stderr } = await run(spec);
    expect(code).toBe(0);
    const [before, after] = [parse(TEXT, { merge: true }), applied(TEXT, stdout)];
    expect(after["x-base"]).toEqual(before["x-base"]);
    expect(after.paths["/free"]).toEqual(before.paths["/free"]);
    for (const operation of [after.paths["/v2/orders"].post, after.paths["/v2/orders"].patch]) {
      expect(operation.responses["201"]).toMatchObject({ description: "Made.", headers: expect.anything() });
      expect(operation.responses["400"]).toMatchObject({ description: "Bad.", content: expect.anything() });
      expect(operation.responses["409"]).toBeDefined();
    }
    expect(after.paths["/v2/refunds/{id}"]).toEqual(before.paths["/v2/refunds/{id}"]);
    expect(after.components.pathItems.Refund.post.responses["409"]).toBeDefined();
    expect(stderr).toContain(
      "/v2/elsewhere: its path item is in another file (./elsewhere.yaml): bundle the description first",
    );
  });
});

describe("bad input", () => {
  it.each([
    ["openapi: 3.1.0\npaths:\n  /a: [\n", 1, /spec\.yaml:\d+:\d+: not valid YAML: .*\n$/],
    ['{ "openapi": "3.1.0",', 1, /spec\.yaml:\d+:\d+: not valid JSON: /],
    ["openapi: 3.1.0\n---\nopenapi: 3.1.0\n", 1, /several documents: keep the one with the paths/],
    ["openapi: 3.1.0\na: *nowhere\n", 1, /spec\.yaml(:\d+:\d+)?: not valid YAML: .*nowhere/],
    ["swagger: '2.0'\npaths: {}\n", 1, /Swagger 2\.0 is too old/],
    ["- 1\n", 1, /no OpenAPI description: write openapi: "3\.1\.0"/],
    ["openapi: 3.1.0\npaths: {}\n", 1, /it has no paths/],
    [
      "openapi: 3.1.0\npaths: { /payments: { post: {} } }\n",
      1,
      /no route of .* protects any operation: their paths include/,
    ],
  ])("is refused with what is wrong: %j", async (text, exitCode, message) => {
    const spec = join(folder, "spec.yaml");
    writeFileSync(spec, text);
    const { code, stdout, stderr } = await run(spec);
    expect({ code, stdout }).toEqual({ code: exitCode, stdout: "" });
    expect(stderr).toMatch(message);
  });

  it("may be a file that is not there, and an environment that is not", async () => {
    expect(await run(join(folder, "none.yaml"))).toMatchObject({ code: 2, stdout: "" });
    expect(await run(SPEC, "--env", "none")).toMatchObject({ code: 2, stderr: `${CONFIG}: there is no [env.none]\n` });
  });
});

it.each([
  ["/v1/*", "/v1", true],
  ["/v1/*", "/v1/a/{b}", true],
  ["/v1/:id/refunds", "/v1/{id}/refunds", true],
  ["/v1/:id{[0-9]+}", "/v1/{id}", true],
  ["/v1/:id{[0-9]+}", "/v1/17", true],
  ["/v1/:id{[0-9]+}", "/v1/new", false],
  ["/v1/new", "/v1/{id}", false],
  ["/v1/:id?", "/v1", true],
  ["/v1/:id", "/v1/{id}/more", false],
  ["/v1/*/more", "/v1/{id}/more", true],
])("a route %s covers %s: %s", (pattern, template, isCovered) => {
  expect(coversTemplate(pattern, template)).toBe(isCovered);
});
