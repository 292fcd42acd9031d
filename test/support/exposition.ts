// A strict parser of the Prometheus text format (version 0.0.4): everything that a collector could refuse is an error.

export interface Metric {
  /** The name in the line, with its suffix. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*";
const HELP = new RegExp(`^# HELP (${NAME}) (\\S.*)$`);
const TYPE = new RegExp(`^# TYPE (${NAME}) (counter|gauge|histogram)$`);
const LINE = new RegExp(`^(${NAME})(?:\\{(.*)\\})? (-?[0-9.]+(?:e[-+]?[0-9]+)?|\\+Inf)$`);
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/;
const SUFFIXES = ["_bucket", "_sum", "_count"];

/** All samples. Throws at the first invalid line. */
export function parseExposition(text: string): readonly Metric[] {
  if (text !== "" && !text.endsWith("\n")) throw new Error("the last line has no end");
  const families = new Set<string>();
  const seen = new Set<string>();
  const metrics: Metric[] = [];
  let family = { name: "", type: "" };
  let help: string | null = null;
  for (const line of text.split("\n").slice(0, -1)) {
    const fail = (why: string): never => {
      throw new Error(`${why}: ${line}`);
    };
    const [, helped = null] = HELP.exec(line) ?? [];
    if (helped !== null) {
      if (families.has(helped)) fail("the family comes twice");
      families.add(helped);
      help = helped;
      continue;
    }
    const [, typed, type] = TYPE.exec(line) ?? [];
    if (typed !== undefined && type !== undefined) {
      if (typed !== help) fail("a type without its help");
      if ((type === "counter") !== typed.endsWith("_total")) fail("counters end with _total, and nothing else does");
      family = { name: typed, type };
      help = null;
      continue;
    }
    const [, name = "", inner = "", value = ""] = LINE.exec(line) ?? fail("no line of the format");
    const suffix = SUFFIXES.find((one) => family.type === "histogram" && name === family.name + one) ?? "";
    if (name !== family.name + suffix || (family.type === "histogram") !== (suffix !== "")) fail("not of its family");
    const labels = parseLabels(inner, fail);
    const identity = `${name}${JSON.stringify(Object.entries(labels).map(String).toSorted())}`;
    if (seen.has(identity)) fail("the sample comes twice");
    seen.add(identity);
    metrics.push({ name, labels, value: value === "+Inf" ? Infinity : Number(value) });
  }
  checkHistograms(metrics);
  return metrics;
}

function parseLabels(inner: string, fail: (why: string) => never): Readonly<Record<string, string>> {
  const labels: Record<string, string> = {};
  for (let rest = inner; rest !== "";) {
    const [all, name = "", value = ""] = LABEL.exec(rest) ?? fail("not a label");
    if (Object.hasOwn(labels, name)) fail("a label comes twice");
    labels[name] = value.replaceAll(/\\(["\\n])/g, (_, escape) => (escape === "n" ? "\n" : String(escape)));
    rest = rest.slice(all.length);
  }
  return labels;
}

/** Buckets never decrease, end with `+Inf`, and agree with the count. */
function checkHistograms(metrics: readonly Metric[]): void {
  for (const count of metrics.filter(({ name }) => name.endsWith("_count"))) {
    const base = count.name.slice(0, -"_count".length);
    const isOwn = ({ labels }: Metric): boolean =>
      Object.entries(count.labels).every(([name, value]) => labels[name] === value);
    const buckets = metrics.filter((one) => one.name === `${base}_bucket` && isOwn(one));
    const bounds = buckets.map(({ labels }) => (labels["le"] === "+Inf" ? Infinity : Number(labels["le"])));
    const rises = (values: readonly number[], strictly: boolean): boolean =>
      values.every((value, at) => {
        const before = values[at - 1] ?? -Infinity;
        return strictly ? value > before : value >= before;
      });
    if (bounds.at(-1) !== Infinity || !rises(bounds, true)) throw new Error(`${base}: bounds ${bounds.join()}`);
    const values = buckets.map(({ value }) => value);
    if (!rises(values, false) || values.at(-1) !== count.value) throw new Error(`${base}: counts ${values.join()}`);
    if (!metrics.some((one) => one.name === `${base}_sum` && isOwn(one))) throw new Error(`${base} has no sum`);
  }
}

/** The sum over all samples of a name with these labels. */
export function sumOf(metrics: readonly Metric[], name: string, labels: Readonly<Record<string, string>> = {}): number {
  return metrics
    .filter((one) => one.name === name)
    .filter((one) => Object.entries(labels).every(([label, value]) => one.labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0);
}
