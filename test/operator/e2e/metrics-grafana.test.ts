// The dashboard and the alert rules use only existing metrics: a real gateway exposes every metric and label that they name.

import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Metric, parseExposition } from "../../support/exposition.ts";
import { freshKey } from "../../support/http.ts";
import { ADMIN_TOKEN, type OperatorScene, READ_TOKEN, startOperatorScene } from "../../support/e2e/operator-scene.ts";

let scene: OperatorScene;
let metrics: readonly Metric[];
beforeAll(async () => {
  const more = {
    QUEUES: [{ queue: "orders", to: "/orders", dead_letter: { binding: "DEAD" } }],
    DEAD: {},
    DESTINATIONS: [{ name: "billing", url: "https://hooks.example", secret: "HOOK" }],
    HOOK: `whsec_${"A".repeat(32)}`,
    CONSUMERS: [{ name: "mail", token: "MAIL_TOKEN" }],
    MAIL_TOKEN: "m".repeat(32),
  };
  scene = await startOperatorScene({ shards: 2 }, [{ path: "/a/*" }], { ADMIN_TOKEN, READ_TOKEN }, more);
  await scene.send({ path: "/a/b", key: freshKey() });
  metrics = parseExposition((await scene.ask("GET", "/metrics")).text);
});
afterAll(() => scene.close());

function read(name: string): string {
  return readFileSync(new URL(`../../../src/operator/grafana/${name}`, import.meta.url), "utf8");
}

describe.each(["dashboard.json", "alerts.yaml"])("%s", (name) => {
  const text = read(name);
  const expressions = [...text.matchAll(/(?:"expr": "((?:[^"\\]|\\.)*)"|^ +expr: (.*)$)/gm)].map(([, quoted, plain]) =>
    quoted === undefined ? (plain ?? "") : String(JSON.parse(`"${quoted}"`)),
  );

  it("uses only existing metrics and labels", () => {
    expect(expressions.length).toBeGreaterThan(8);
    for (const expression of expressions) {
      const named = [...expression.matchAll(/\b(onceway_[a-z_]+|up)(?:\{([^}]*)\})?/g)];
      expect({ expression, isOurs: named.length > 0 }).toEqual({ expression, isOurs: true });
      const grouped = [...expression.matchAll(/ by \(([^)]*)\)/g)].flatMap(([, list = ""]) => list.split(", "));
      for (const [, metric = "", matchers = ""] of named) {
        const own = metrics.find((one) => one.name === metric)?.labels;
        // Prometheus gives each target a series of its own, and these labels to each of its series.
        const has = own === undefined && metric !== "up" ? [] : [...Object.keys(own ?? {}), "instance", "job"];
        const asked = [...matchers.matchAll(/([a-z_]+)=~?"/g)].map(([, label = ""]) => label);
        const missing = [...asked, ...grouped].filter((label) => !has.includes(label));
        expect({ expression, metric, missing }).toEqual({ expression, metric, missing: [] });
      }
    }
  });

  it("applies rate() and increase() only to counters, before any sum", () => {
    for (const expression of expressions) {
      for (const [, metric = ""] of expression.matchAll(/(?:rate|increase)\((onceway_[a-z_]+)/g)) {
        expect(metric).toMatch(/_(?:total|bucket|sum|count)$/);
      }
      expect(expression).not.toMatch(/(?:rate|increase)\((?:sum|max|avg)/);
      for (const [metric] of expression.matchAll(/onceway_[a-z_]+_total/g)) {
        // A counter means nothing without its change.
        expect(expression).toMatch(new RegExp(String.raw`(?:rate|increase)\(${metric}`));
      }
    }
  });
});

it("the dashboard is valid for Grafana: JSON, panels that do not overlap, targets with a source", () => {
  const dashboard: unknown = JSON.parse(read("dashboard.json"));
  expect(dashboard).toMatchObject({ title: "Onceway", schemaVersion: expect.any(Number), panels: expect.any(Array) });
  const places = [...JSON.stringify(dashboard).matchAll(/"gridPos":\{"x":(\d+),"y":(\d+),"w":(\d+),"h":(\d+)\}/g)];
  const cells = places.flatMap(([, x, y, w, h]) =>
    Array.from({ length: Number(w) * Number(h) }, (_, cell) => {
      const column = Number(x) + (cell % Number(w));
      expect(column).toBeLessThan(24);
      return `${column}:${Number(y) + Math.floor(cell / Number(w))}`;
    }),
  );
  expect(places.length).toBeGreaterThan(8);
  expect(new Set(cells).size).toBe(cells.length);
});

it("every metric of the exposition is on the dashboard or in an alert", () => {
  const text = read("dashboard.json") + read("alerts.yaml");
  const families = new Set(metrics.map(({ name }) => name.replace(/_(?:bucket|sum|count)$/, "")));
  expect([...families].filter((family) => !text.includes(family))).toEqual([]);
});

describe("an alert", () => {
  const REPOSITORY = "https://github.com/onceway/onceway/blob/main/";
  const rules = read("alerts.yaml").split("      - alert: ").slice(1);

  it.each(rules.map((text) => [text.slice(0, text.indexOf("\n")), text]))("%s leads to its runbook", (_name, text) => {
    const [, path = "", anchor = ""] = /runbook_url: "([^"#]*)#([^"]+)"/.exec(text) ?? [];
    expect(path.startsWith(REPOSITORY)).toBe(true);
    const page = readFileSync(new URL(`../../../${path.slice(REPOSITORY.length)}`, import.meta.url), "utf8");
    const anchors = [...page.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) => title.toLowerCase().replaceAll(" ", "-"));
    expect(anchors).toContain(anchor);
  });

  it("leads to a page of the console", async () => {
    const pages = rules.flatMap(
      (text) => /console: "https:\/\/\{\{ \$labels\.instance \}\}(\/[^"]*)"/.exec(text)?.[1] ?? [],
    );
    expect(pages.length).toBeGreaterThan(8);
    const { url } = scene.gateway;
    const body = new URLSearchParams({ "operator-token": ADMIN_TOKEN });
    const request = { method: "POST", headers: { Origin: url }, body, redirect: "manual" } as const;
    const signedIn = await fetch(`${url}/_onceway/console/sign-in`, request);
    const Cookie = signedIn.headers.get("set-cookie") ?? "";
    for (const page of new Set(pages)) {
      const { status } = await fetch(url + page, { headers: { Cookie }, redirect: "manual" });
      expect([page, status]).toEqual([page, 200]);
    }
  });
});
