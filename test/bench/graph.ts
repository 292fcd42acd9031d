// Graphs as plain SVG: horizontal bars, each with its median and, as a thin line, its range over the rounds.

import type { Spread } from "./rounds.ts";

export interface Bar {
  readonly label: string;
  readonly spread: Spread;
  /** Index of the colour; bars of one kind share one. */
  readonly tone: 0 | 1 | 2;
}

/** Distinguishable for people with colour blindness. */
const TONES = ["#0072b2", "#e69f00", "#999999"] as const;

const WIDTH = 860;
const LABEL_WIDTH = 190;
const VALUE_WIDTH = 110;
const ROW_HEIGHT = 24;
const BAR_HEIGHT = 14;
const TOP = 56;
const MARGIN = 16;

export function barGraph(title: string, subtitle: string, bars: readonly Bar[], digits: number): string {
  const room = WIDTH - LABEL_WIDTH - VALUE_WIDTH - MARGIN;
  const most = Math.max(...bars.map(({ spread }) => spread.max), Number.MIN_VALUE);
  const x = (value: number): string => (LABEL_WIDTH + (value / most) * room).toFixed(1);
  const height = TOP + bars.length * ROW_HEIGHT + MARGIN;
  const rows = bars.map(({ label, spread, tone }, at) => {
    const top = TOP + at * ROW_HEIGHT;
    const middle = top + ROW_HEIGHT / 2;
    const length = (Number(x(spread.median)) - LABEL_WIDTH).toFixed(1);
    return [
      `<text x="${LABEL_WIDTH - 8}" y="${middle + 4}" text-anchor="end">${escaped(label)}</text>`,
      `<rect x="${LABEL_WIDTH}" y="${middle - BAR_HEIGHT / 2}" width="${length}" height="${BAR_HEIGHT}" fill="${TONES[tone]}"/>`,
      `<path d="M${x(spread.min)} ${middle}H${x(spread.max)}" stroke="#222" stroke-width="1.5"/>`,
      `<text x="${Number(x(spread.max)) + 8}" y="${middle + 4}">${spread.median.toFixed(digits)}</text>`,
    ].join("\n");
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" font-family="system-ui, sans-serif" font-size="13" fill="#222">
<title>${escaped(title)}</title>
<rect width="${WIDTH}" height="${height}" fill="#fff"/>
<text x="${MARGIN}" y="24" font-size="16" font-weight="600">${escaped(title)}</text>
<text x="${MARGIN}" y="43" fill="#555">${escaped(subtitle)}</text>
${rows.join("\n")}
</svg>
`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
