// The table of an identity's members in src/features/identities/README.md: complete, generated, and true.

import { readFileSync } from "node:fs";
import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";
import { markdownTable, ownTexts } from "../../../../src/cli/settings-table.ts";
import { identitiesVariable } from "../../../../src/features/identities/cli/node.ts";
import {
  askEntries,
  identityEntries,
  jwtEntries,
} from "../../../../src/features/identities/settings/identity-entries.ts";
import { signatureEntries } from "../../../../src/features/identities/settings/signature-entries.ts";
import { configOf, PAYMENTS } from "../../../kernel/unit/config/support.ts";
import { settingRows } from "../../../support/setting-rows.ts";

const PAGE = readFileSync(new URL("../../../../src/features/identities/README.md", import.meta.url), "utf8");

describe("the table of an identity's members", () => {
  const rows = settingRows(PAGE);

  it("is generated", () => {
    expect(PAGE).toContain(`<!-- settings -->\n\n${markdownTable(ownTexts(identitiesVariable))}\n\n<!-- /settings -->`);
  });

  it("has a row for each, and none besides", () => {
    const members = (of: string, entries: object) => Object.keys(entries).map((name) => `${of}.${name}`);
    const names = [
      ...Object.keys(identityEntries),
      ...members("jwt", jwtEntries),
      ...members("ask", askEntries),
      ...members("signature", signatureEntries),
    ];
    expect(rows.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
  });

  it.each(rows.filter(({ default: text }) => text.startsWith("`")))("says of $name what applies by default", (row) => {
    const [of = "", member = ""] = row.name.includes(".") ? row.name.split(".") : ["", row.name];
    const written = parse(`${member} = ${row.default.slice(1, -1)}`);
    const needed = new Map<string, object>([
      ["jwt", { issuer: "i", audience: "a", jwks: "https://login.example.com/jwks" }],
      ["ask", { path: "/me", pointer: "/id" }],
      ["signature", { trust: ["https://platform.example/.well-known/ucp"] }],
    ]);
    const kind = of === "" ? "jwt" : of;
    const plain = { [kind]: needed.get(kind) };
    const full = of === "" ? { ...plain, ...written } : { [of]: { ...needed.get(of), ...written } };
    const configWith = (user: object) => configOf({ ROUTES: [PAYMENTS], IDENTITIES: { user } });
    expect(configWith(full)).toEqual(configWith(plain));
  });
});
