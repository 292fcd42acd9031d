import { describe, expect, it } from "vitest";
import { runsFor } from "../../changed.ts";

const READERS = ["test/docs/docs.test.ts"];
const IN_PROCESS = ["unit", "simulation", "integration", "memory"].flatMap((name) => ["--project", name]);
const BY_IMPORTS = ["--changed", "main", "--passWithNoTests"];

describe("the tests of a change", () => {
  it("are none if nothing has changed", () => {
    expect(runsFor([], READERS, "main")).toEqual([]);
  });

  it.each(["src/kernel/record/step.ts", "src/config/settings.json", "package-lock.json", "test/support/origin.ts"])(
    "are all those of the whole gateway if it starts what has changed: %s",
    (file) => {
      expect(runsFor([file], READERS, "main")).toEqual([
        ["--project", "unit", ...READERS],
        [...IN_PROCESS, ...BY_IMPORTS],
        ["--project", "e2e"],
      ]);
    },
  );

  it.each(["README.md", "src/kernel/record/README.md", "test/cli/e2e/init.test.ts", "test/unit/core/step.test.ts"])(
    "are else those that import it, and those that read documents and sources: %s",
    (file) => {
      expect(runsFor([file], READERS, "main").slice(1)).toEqual([
        [...IN_PROCESS, ...BY_IMPORTS],
        ["--project", "e2e", ...BY_IMPORTS],
      ]);
    },
  );
});
