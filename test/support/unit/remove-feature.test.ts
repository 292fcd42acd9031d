import { globSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { MARK } from "../../house.ts";
import { goingWith, withoutLinks, withoutMarked } from "../../remove-feature.ts";

describe("a file without a feature", () => {
  it.each([
    ["a line", 'import { a } from "./a.ts"; // feature: pages\nkept();\n', "kept();\n"],
    ["a line of another feature", "kept(); // feature: page\n", "kept(); // feature: page\n"],
    ["a line of two features", "both(); // feature: queues, pages\nkept();\n", "kept();\n"],
    ["a line of TOML", "x = 1 # feature: pages\ny = 2\n", "y = 2\n"],
    ["a block", "a();\n  // feature: pages begins\n  b();\n  // feature: pages ends\nc();\n", "a();\nc();\n"],
    [
      "a block within that of another",
      "// feature: bulk begins\nx(); // feature: pages\ny();\n// feature: bulk ends\n",
      "// feature: bulk begins\ny();\n// feature: bulk ends\n",
    ],
    ["all of it", "// feature: pages begins\nx();\n// feature: pages ends", ""],
  ])("has no longer %s", (_what, text, rest) => {
    expect(withoutMarked(text, "pages")).toBe(rest);
  });

  it("is no file when a block does not end", () => {
    expect(() => withoutMarked("// feature: pages begins\nx();\n", "pages")).toThrow("a block of pages does not end");
  });
});

describe("a page without a feature", () => {
  const isGone = (target: string): boolean => target.startsWith("pages/");

  it.each([
    [
      "| [pages/](pages/README.md) | CORS |\n| [bulk/](bulk/README.md) | changes |",
      "| [bulk/](bulk/README.md) | changes |",
    ],
    ["- [Pages](pages/README.md): CORS\n- other", "- other"],
    [
      "Read [its page](pages/README.md#cors) and [another](bulk/README.md).",
      "Read its page and [another](bulk/README.md).",
    ],
  ])("%j", (text, rest) => {
    expect(withoutLinks(text, isGone)).toBe(rest);
  });
});

it("takes those that need it along, first", () => {
  expect(goingWith("outbox")).toEqual(["queues", "outbox"]);
  expect(goingWith("accepted")).toEqual(["queues", "accepted"]);
  expect(goingWith("key-sources")).toEqual(["content-keys", "graphql", "key-sources"]);
  expect(goingWith("pages")).toEqual(["pages"]);
});

it("every mark names a feature that is there, and every block ends", () => {
  const features = readdirSync("src/features", { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  const files = globSync(["*.json", "{src,test}/**/*.{ts,tsx,toml,json}"]);
  const marked = files
    .map((file) => ({ file, text: readFileSync(file, "utf8") }))
    .filter(({ text }) => MARK.test(text));
  const unknown = marked.flatMap(({ file, text }) =>
    [...text.matchAll(new RegExp(MARK, "gm"))]
      .flatMap(([, names = ""]) => names.split(", "))
      .filter((name) => !features.includes(name))
      .map((name) => `${file}: ${name}`),
  );
  expect(unknown).toEqual([]);
  for (const { text } of marked) for (const feature of features) withoutMarked(text, feature);
});

/** The names that a file imports. */
function importedBy(text: string): readonly string[] {
  return [...text.matchAll(/^import (?:type )?\{([^}]*)\} from "/gm)].flatMap(([, names = ""]) =>
    names.split(",").flatMap((name) => /(\w+)\s*$/.exec(name)?.[1] ?? []),
  );
}

/** The imports that go with `feature` and that a line uses which stays. */
function missingWithout(feature: string, text: string): readonly string[] {
  const rest = withoutMarked(text, feature);
  const left = new Set(importedBy(rest));
  const code = rest.replaceAll(/^\s*(?:\/\/|\/?\*).*$|\/\/ .*$|"[^"\n]*"/gm, "");
  return importedBy(text).filter(
    (name) => !left.has(name) && new RegExp(`(?<![\\w)\\]]\\.)\\b${name}\\b(?!\\??:)`).test(code),
  );
}

it("an import of two features goes with either, so a line of one alone misses it", () => {
  const text = 'import { a } from "./a.ts"; // feature: pages, bulk\na(); // feature: bulk\n';
  expect(missingWithout("pages", text)).toEqual(["a"]);
  expect(missingWithout("bulk", text)).toEqual([]);
});

it("a line that stays when a feature is removed uses no import that goes", () => {
  const missing = globSync("{src,test}/**/*.{ts,tsx}").flatMap((file) => {
    const text = readFileSync(file, "utf8");
    const marks = [...text.matchAll(new RegExp(MARK, "gm"))].flatMap(([, names = ""]) => names.split(", "));
    // The samples above are no marks.
    if (file === "test/support/unit/remove-feature.test.ts") return [];
    return [...new Set(marks)].flatMap((feature) =>
      missingWithout(feature, text).map((name) => `${file} without ${feature}: ${name}`),
    );
  });
  expect(missing).toEqual([]);
});
