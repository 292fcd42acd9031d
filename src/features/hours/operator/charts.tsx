// Bars by hour, as SVG that needs no script. A figure beside each says what it shows, and a table on the page has every number.

import { groupedDigits } from "../../../operator/console/rates.tsx";

const HEIGHT = 100;
const STEP = 10;

export interface ChartBar {
  /** The beginning of the hour: `2026-11-23T08:00:00.000Z`. */
  readonly at: string;
  readonly full: number;
  /** The filled part of it. */
  readonly part: number;
}

interface ChartProps {
  readonly title: string;
  /** Beside the title: the sum, or the worst. */
  readonly figure: string;
  /** What the filled part is; empty: there is none. */
  readonly part: string;
  readonly bars: readonly ChartBar[];
  readonly unit: "" | " ms";
}

export function BarChart({ title, figure, part, bars, unit }: ChartProps) {
  const most = highest(bars);
  const says = ({ at, full, part: filled }: ChartBar): string =>
    `${hourText(at)} UTC: ${groupedDigits(full)}${unit}${part === "" ? "" : `, ${part} ${groupedDigits(filled)}${unit}`}`;
  const top = bars.find(({ full }) => full === most);
  const label =
    most === 0 || top === undefined
      ? `${title}: none`
      : `${title} by hour: ${figure}, at most ${groupedDigits(most)}${unit} at ${hourText(top.at)} UTC`;
  return (
    <figure class="chart">
      <figcaption>
        {title} <strong>{figure}</strong>
      </figcaption>
      <svg viewBox={`0 0 ${bars.length * STEP} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        {bars.map((bar, index) =>
          bar.full === 0 ? null : (
            <g>
              <title>{says(bar)}</title>
              <rect class="hit" x={index * STEP} width={STEP} height={HEIGHT} />
              <Column kind="full" index={index} share={bar.full / most} />
              <Column kind="part" index={index} share={bar.part / most} />
            </g>
          ),
        )}
      </svg>
      <p class="soft small">
        {most === 0 ? "none" : `at most ${groupedDigits(most)}${unit}`}
        {part === "" || most === 0 ? "" : `; filled: ${part}`}
      </p>
    </figure>
  );
}

function Column({ kind, index, share }: { readonly kind: string; readonly index: number; readonly share: number }) {
  if (share === 0) return null;
  const height = Math.max(1, Math.round(share * HEIGHT));
  return <rect class={kind} x={index * STEP + 1} y={HEIGHT - height} width={STEP - 2} height={height} />;
}

/** The shape of a day, beside its figure in a table. */
export function SparkLine({ values }: { readonly values: readonly number[] }) {
  const most = Math.max(...values);
  if (most === 0) return null;
  const bars = values.map((value, index) =>
    value === 0 ? "" : `M${index} 10v-${Math.max(1, Math.round((10 * value) / most))}h.8V10`,
  );
  return (
    <svg class="spark" viewBox={`0 0 ${values.length} 10`} preserveAspectRatio="none" aria-hidden="true">
      <path d={bars.join("")} />
    </svg>
  );
}

function highest(bars: readonly ChartBar[]): number {
  return Math.max(0, ...bars.map(({ full }) => full));
}

/** `11-23 08:00`. */
export function hourText(iso: string): string {
  return iso.slice(5, 16).replace("T", " ");
}
