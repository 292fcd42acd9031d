// The profile, the suite and the documentation name each other: no requirement without a case, no case without a requirement.

import { describe, expect, it } from "vitest";
import { CASES } from "../../../src/conformance/catalogue.ts";
import { PROFILE } from "../../../src/conformance/cases/expiry.ts";
import { wellKnownResponse } from "../../../src/kernel/request/well-known.ts";
import { readConfig } from "../../../src/features/settings.ts";
import { readPage } from "../../support/docs.ts";

const { text, prose } = readPage("src/conformance/profile/README.md");

/** Each requirement's number, and the cases that it names. */
const requirements = [...prose.matchAll(/^\*\*(P\d+) (.*?)(?=^\*\*P\d|^## )/gms)].map(([, number = "", body = ""]) => ({
  number,
  cases: [...body.matchAll(/`([a-z]+\.[a-z-]+)`/g)]
    .map(([, id = ""]) => id)
    .filter((id) => CASES.some((one) => one.id === id)),
}));

describe("the profile", () => {
  it("numbers its requirements without a gap, and fits on a page", () => {
    expect(requirements.map(({ number }) => number)).toEqual(Array.from({ length: 24 }, (_, at) => `P${at + 1}`));
    expect(text.split("\n").length).toBeLessThanOrEqual(250);
  });

  it("names for each requirement the cases that trace to it", () => {
    const traced = requirements.map(({ number }) => ({
      number,
      cases: CASES.filter(({ profile }) => profile === number).map(({ id }) => id),
    }));
    const sorted = requirements.map(({ number, cases }) => ({ number, cases: cases.toSorted() }));
    expect(sorted).toEqual(traced.map(({ number, cases }) => ({ number, cases: cases.toSorted() })));
    for (const { cases } of requirements) expect(cases.length).toBeGreaterThan(0);
  });

  it("has the name that the gateway's policy declares, with the members that it gives a meaning", async () => {
    const reading = readConfig({
      IDEMPOTENCY: { origin: "https://api.example.com" },
      ROUTES: [{ path: "/v1/*" }],
      KEY_SHARD: {},
    });
    if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
    const policy: unknown = await wellKnownResponse(reading.config).json();
    expect(prose).toContain(`\`${PROFILE}\``);
    const members = [...prose.matchAll(/^\| `(routes\[\]\.)?([\w.]+)` \|/gm)].map(([, of, name = ""]) =>
      of === undefined ? name : `routes[0].${name}`,
    );
    expect(members).toHaveLength(10);
    for (const member of members) expect(policy).toHaveProperty(member);
    expect(policy).toMatchObject({ profile: PROFILE });
  });
});

describe("the table of how servers do", () => {
  const rows = [
    ...readPage("src/conformance/README.md").prose.matchAll(/^\| `([a-z]+\.[a-z-]+)` \| (\w+) \| (.*?) \| (.*) \|$/gm),
  ].map(([, id = "", level = "", draft = "", marks = ""]) => ({
    id,
    level,
    draft: draft.trim(),
    marks: marks.split(" | "),
  }));

  it("has every case with its levels", () => {
    expect(rows.map(({ id, level, draft }) => ({ id, level, draft }))).toEqual(
      CASES.map(({ id, level, draft }) => ({
        id,
        level,
        draft: draft === null ? "" : `§${draft.section} ${draft.level}`,
      })),
    );
  });

  it("adds up, and has the gateway pass everything, as the end-to-end test demands", () => {
    const page = readPage("src/conformance/README.md").text;
    for (const level of ["MUST", "SHOULD"]) {
      const [, sums = ""] =
        new RegExp(`\\*\\*${level} of the profile failed\\*\\* \\| \\| \\| (.*) \\|`).exec(page) ?? [];
      const failed = sums
        .split(" | ")
        .map((_, column) => rows.filter((row) => row.level === level && row.marks[column] === "**✗**").length);
      expect(sums).toBe(failed.join(" | "));
    }
    expect(new Set(rows.map(({ marks }) => marks[0]))).toEqual(new Set(["✓"]));
  });
});
