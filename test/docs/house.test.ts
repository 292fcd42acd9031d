// What the check `house` counts: files that name a feature, and the numbers of src/README.md. Without a feature there are fewer.

import { describe, expect, it } from "vitest";
import { allImports, allNamings, namingFaults } from "../house.ts";
import { wrongNumbers, wrongNumbersOfPage } from "../new-things.ts";

describe("files outside of a feature's folders that name it", () => {
  const now = allNamings(allImports());

  it("each have a reason", () => {
    expect(now.length).toBeGreaterThan(5);
    expect(namingFaults(now)).toEqual([]);
  });

  it("are found by their marks and their imports", () => {
    expect(now).toContainEqual({ file: "kernel/store/tables.ts", feature: "claims" });
    expect(now).toContainEqual({ file: "features/queues/consume.ts", feature: "outbox" });
  });

  it("are at most eight, and no others", () => {
    const more = ["a", "b", "c", "d", "e", "f"].map((name) => ({ file: `kernel/${name}.ts`, feature: "outbox" }));
    const faults = namingFaults([...now, ...more]);
    expect(faults).toHaveLength(more.length + 1);
    expect(faults[0]).toBe("src/kernel/a.ts names outbox: test/house.ts has no reason for it");
    expect(faults.at(-1)).toBe("outbox is named by 9 files, at most 8 may");
    expect(namingFaults(now.filter(({ file }) => file !== "kernel/store/tables.ts"))).toEqual([
      "src/kernel/store/tables.ts names no feature: test/house.ts needs no reason for it",
    ]);
  });
});

describe("the numbers of where new things go", () => {
  it("are those of the files", () => {
    expect(wrongNumbersOfPage()).toEqual([]);
  });

  it("are wrong if other files name the example, or none is counted", () => {
    const rows = "| the words of a problem | here | 2 |\n| a colour | there | 1 |";
    const page = `## Where new things go\n\n| new | goes to | files |\n| --- | --- | --- |\n${rows}\n\nMore.`;
    const wrong = wrongNumbers(page, [["src/a.ts", '"Request in flight"']]);
    expect(wrong).toContain('src/README.md says 2 for "the words of a problem", but 1 files name it: src/a.ts');
    expect(wrong).toContain('test/new-things.ts has no example of "a colour", so its number is not counted');
    expect(wrong).toContain('src/README.md has no number of files for "another store"');
  });
});
