// The table of settings in src/kernel/config/README.md: complete, generated, and true.

import { readFileSync } from "node:fs";

import { parse } from "smol-toml";
import * as v from "valibot";
import { describe, expect, it } from "vitest";

import { markdownTable, settingTexts } from "../../../../src/cli/settings-table.ts";
import { MAX_SHARDS } from "../../../../src/kernel/config/layout.ts";
import { MAX_KEY_LENGTH } from "../../../../src/kernel/record/units.ts";
import { fingerprintEntries } from "../../../../src/kernel/config/settings-fingerprint.ts";
import { noteEntries } from "../../../../src/kernel/notes/settings-note.ts";
import { keyFormatEntries } from "../../../../src/kernel/config/settings-key.ts";
import { gatewayEntries } from "../../../../src/kernel/config/settings-gateway.ts";
import { FEATURE_SETTINGS, SETTINGS } from "../../../../src/features/settings.ts";
import { settingRows } from "../../../support/setting-rows.ts";
import { configOf, PAYMENTS } from "./support.ts";

const read = (name: string): string =>
  readFileSync(new URL(`../../../../src/kernel/config/${name}`, import.meta.url), "utf8");

const described = v.object({ description: v.string() });
const table = v.object({ properties: v.record(v.string(), v.unknown()) });
const list = v.object({ items: table });
const { definitions } = v.parse(
  v.object({ definitions: v.object({ settings: table, route: table }) }),
  JSON.parse(read("wrangler.schema.json")),
);

/** Members of an entry that the text of their list describes have none of their own. */
function describedOnly(properties: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(properties).filter(([, member]) => v.is(described, member)));
}

/** The first paragraph of each description in the JSON Schema, by the setting's name. */
/** Either a word, or a table of which the members are listed. */
const jsonRpcForms = v.looseObject({
  anyOf: v.tuple([v.object({ type: v.literal("boolean") }), v.looseObject({ type: v.literal("object") })]),
});

function sentences(
  properties: Readonly<Record<string, unknown>>,
  prefix: string,
): readonly (readonly [string, string])[] {
  return Object.entries(properties).flatMap(([name, member]) => {
    const [first = ""] = v.parse(described, member).description.split("\n");
    const form = v.is(jsonRpcForms, member) ? member.anyOf[1] : member;
    const members = v.is(list, form) ? form.items : form;
    const inner = v.is(table, members) ? sentences(describedOnly(members.properties), `${name}.`) : [];
    return [[prefix + name, first] as const].concat(inner);
  });
}

const ROWS = settingRows(read("README.md"));

describe("the table of settings", () => {
  it("has a row for each setting of the schema, and none besides", () => {
    const members = (of: string, entries: object) => Object.keys(entries).map((name) => `${of}.${name}`);
    const names = [
      "path",
      ...Object.keys(SETTINGS.entries),
      ...Object.keys(gatewayEntries),
      ...members("key_format", keyFormatEntries),
      ...members("fingerprint", fingerprintEntries),
      ...FEATURE_SETTINGS.flatMap(({ routes }) =>
        Object.entries(routes?.tables ?? {}).flatMap(([of, entries]) => members(of, entries)),
      ),
      ...members("note", noteEntries),
    ];
    expect(ROWS.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
  });

  it("is generated", () => {
    expect(read("README.md")).toContain(`<!-- settings -->\n\n${markdownTable(settingTexts())}\n\n<!-- /settings -->`);
  });

  it("says the same sentences as the JSON Schema", () => {
    const { route, settings } = definitions;
    const editors = new Map([...sentences(settings.properties, ""), ...sentences(route.properties, "")]);
    expect(editors).toEqual(new Map(ROWS.map(({ name, meaning }) => [name, meaning])));
  });

  it("names the bounds that hold, where a text has them as numbers", () => {
    const text = (name: string) => settingTexts().find((one) => one.name === name);
    expect(text("shards")?.takes).toContain(`1 to ${MAX_SHARDS},`);
    expect(text("key_format.max")?.default).toContain(`${MAX_KEY_LENGTH},`);
  });

  const DESTINATIONS = [{ name: "audit", queue: "AUDIT" }];
  const isGateway = (name: string) => Object.hasOwn(gatewayEntries, name);

  /** What a table needs before its other members mean anything. */
  const needed = (name: string) => {
    if (name.startsWith("give_up.")) return 'async = "prefer"';
    if (name.startsWith("publish.")) return 'publish = [{ to = "audit", type = "done" }]';
    if (name.startsWith("jsonrpc.")) return "jsonrpc = true";
    if (name.startsWith("verdicts.")) return 'verdicts = [{ at = "/error", is = "refused" }]';
    if (name === "note.excerpt_retention") return "note.excerpt = 100";
    if (name.startsWith("cors.")) return 'cors.origins = ["https://shop.example.com"]';
    return "";
  };

  it.each(ROWS.filter(({ default: text }) => text.startsWith("`")))("says of $name what applies by default", (row) => {
    const others = needed(row.name);
    const value = row.default.slice(1, -1);
    const [, ofRule] = /^verdicts\.(.*)$/.exec(row.name) ?? [];
    const [, member] = /^publish\.(.*)$/.exec(row.name) ?? [];
    const [, ofCalls] = /^jsonrpc\.(.*)$/.exec(row.name) ?? [];
    const written = parse(
      ofCalls !== undefined
        ? `jsonrpc = { ${ofCalls} = ${value} }`
        : ofRule !== undefined
          ? `verdicts = [{ at = "/error", is = "refused", ${ofRule} = ${value} }]`
          : member === undefined
            ? `${others}\n${row.name} = ${value}`
            : `publish = [{ to = "audit", type = "done", ${member} = ${value} }]`,
    );
    const configWith = (settings: object) =>
      isGateway(row.name)
        ? configOf({ IDEMPOTENCY: settings, ROUTES: [PAYMENTS] })
        : configOf({ ROUTES: [{ ...PAYMENTS, ...settings }], NEW_KEYS: {}, AUDIT: {}, DESTINATIONS });
    expect(configWith(written)).toEqual(configWith(parse(others)));
  });

  it("leaves a default in words to settings whose absence has a meaning of its own", () => {
    const inWords = ROWS.filter(({ default: text }) => !text.startsWith("`")).map(({ name }) => name);
    expect(inWords).toEqual([
      "path",
      "origin",
      "location_hint",
      "jurisdiction",
      "replay_set.value", // feature: json-rpc
      "replay_set.from", // feature: json-rpc
      "enforce", // feature: observe
      "observe.effect", // feature: observe
      "key_format.pattern",
      "key_format.max",
      "fingerprint.only",
      "lock",
      "verify",
      "verdicts.equals", // feature: verdicts
      "publish.step", // feature: outbox
      "note.label",
      "note.excerpt",
      "cors.origins", // feature: pages
    ]);
  });
});
