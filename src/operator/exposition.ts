// The Prometheus text format 0.0.4: families with HELP and TYPE, one line for each combination of labels.

export type MetricType = "counter" | "gauge" | "histogram";

export type MetricLabels = Readonly<Record<string, string>>;

export interface MetricFamily {
  readonly name: string;
  readonly type: MetricType;
  readonly help: string;
  readonly samples: readonly MetricSample[];
}

export interface MetricSample {
  /** Follows the family's name: `_bucket`, `_sum`, `_count`, or nothing. */
  readonly suffix: string;
  readonly labels: MetricLabels;
  readonly value: number;
}

export const EXPOSITION_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** A family without samples is left out. */
export function writeExposition(families: readonly MetricFamily[]): string {
  return families
    .filter(({ samples }) => samples.length > 0)
    .map(({ name, type, help, samples }) => {
      const lines = samples.map(({ suffix, labels, value }) => `${name}${suffix}${labelText(labels)} ${value}\n`);
      return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
    })
    .join("");
}

function labelText(labels: MetricLabels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

export function metricSample(labels: MetricSample["labels"], value: number, suffix = ""): MetricSample {
  return { suffix, labels, value };
}
