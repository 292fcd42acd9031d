// Words of the report that the console and the command line share.

import type { ReportLine, RouteReportView } from "./report-schema.ts";

export const KIND_TITLES: Readonly<Record<ReportLine["kind"], string>> = {
  doubled: "Took effect twice",
  gain: "Would be answered",
  break: "Would break",
  note: "Note",
};

/** Whether the route protects anything, and how much of it was looked at. */
export function modeText({ protectedShare, sample }: Pick<RouteReportView, "protectedShare" | "sample">): string {
  const sampled = sample === 1 ? "" : ` ${shareText(sample)} of the keys are looked at.`;
  if (protectedShare === null) return "No longer configured.";
  if (protectedShare === 1) return "Protected now; observed before.";
  if (protectedShare === 0) return `Observed: it protects nothing.${sampled}`;
  return `${shareText(protectedShare)} of the keys are protected, the others observed.${sampled}`;
}

export function shareText(share: number): string {
  return `${Number((share * 100).toFixed(2))}%`;
}
