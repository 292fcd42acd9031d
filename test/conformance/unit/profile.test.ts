// The profile, the suite and the documentation name each other: no requirement without a case, no case without a requirement.

import { describe, expect, it } from "vitest";
import { CASES, PROFILES } from "../../../src/conformance/catalogue.ts";
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

interface PrintedTable {
  readonly rows: readonly {
    readonly id: string;
    readonly level: string;
    readonly draft: string;
    readonly marks: readonly string[];
  }[];
  /** By level, what each column is said to have failed. */
  readonly failed: (level: string) => readonly string[];
}

/** The first table after a text. `columns`: beside those of the servers. */
function tableAfter(heading: string, columns: number): PrintedTable {
  const page = readPage("src/conformance/README.md").text;
  const begin = page.indexOf("| case |", page.indexOf(heading));
  const cells = page
    .slice(begin)
    .split("\n\n", 1)
    .flatMap((table) => table.split("\n"))
    .map((line) => line.split("|").map((cell) => cell.trim()))
    .map(([, ...rest]) => rest.slice(0, -1));
  const rows = cells
    .filter(([id = ""]) => id.startsWith("`"))
    .map(([id = "", level = "", ...rest]) => ({
      id: id.replaceAll("`", ""),
      level,
      marks: rest.slice(columns - 2),
      draft: columns > 2 ? (rest[0] ?? "") : "",
    }));
  const failed = (level: string): readonly string[] =>
    (cells.find(([what]) => what === `**${level} of the profile failed**`) ?? []).slice(columns);
  return { rows, failed };
}

function expectSums({ rows, failed }: PrintedTable): void {
  for (const level of ["MUST", "SHOULD"]) {
    const counted = failed(level).map((_, column) =>
      String(rows.filter((row) => row.level === level && row.marks[column] === "**✗**").length),
    );
    expect(counted.length).toBeGreaterThan(1);
    expect(failed(level)).toEqual(counted);
  }
}

describe("the table of how servers do", () => {
  const table = tableAfter("## How servers do", 3);

  it("has every case with its levels", () => {
    expect(table.rows.map(({ id, level, draft }) => ({ id, level, draft }))).toEqual(
      CASES.map(({ id, level, draft }) => ({
        id,
        level,
        draft: draft === null ? "" : `§${draft.section} ${draft.level}`,
      })),
    );
  });

  it("adds up, and has the gateway pass everything, as the end-to-end test demands", () => {
    expectSums(table);
    expect(new Set(table.rows.map(({ marks }) => marks[0]))).toEqual(new Set(["✓"]));
  });
});

describe.each([
  ["MCP asks", PROFILES.mcp, []],
  ["AdCP: the", PROFILES.adcp, ["caps.declared"]],
] as const)("the table of how servers for agents do, %s", (heading, cases, left) => {
  const { rows, failed } = tableAfter(heading, 2);

  it("has each case that needs neither an origin nor a second caller", () => {
    const judged = cases.filter(({ needs }) => !needs.some((need) => need === "origin" || need === "other-caller"));
    expect(rows.map(({ id, level }) => ({ id, level }))).toEqual(judged.map(({ id, level }) => ({ id, level })));
  });

  it("adds up, and has nothing fail behind the gateway but what is the server's own", () => {
    expectSums({ rows, failed });
    expect(rows.filter(({ marks }) => marks.at(-1) !== "✓").map(({ id }) => id)).toEqual(left);
  });
});
