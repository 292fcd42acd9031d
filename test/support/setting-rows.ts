// A table of settings as it stands in a page.

export interface SettingRow {
  readonly name: string;
  readonly default: string;
  readonly meaning: string;
}

/** The rows of the table of a page. */
export function settingRows(page: string): readonly SettingRow[] {
  const [, after = ""] = page.split("<!-- settings -->");
  const [lines = ""] = after.split("<!-- /settings -->");
  return lines
    .split("\n")
    .filter((line) => /^\| `[a-z_.]+`/.test(line))
    .map((line) => {
      const [first = "", applies = "", , meaning = ""] = line.slice(2, -2).split(" | ");
      return { name: /^`([^`]+)`/.exec(first)?.[1] ?? "", default: applies, meaning };
    });
}
