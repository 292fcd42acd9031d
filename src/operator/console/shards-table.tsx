// What each shard holds that is not finished, and how large it is.

import type { ShardCountsView } from "../gateway-schema.ts";
import { grouped, groupedAtLeast } from "./rates.tsx";

export function ShardsTable({
  shards,
  labelledBy,
}: {
  readonly shards: readonly ShardCountsView[];
  readonly labelledBy: string;
}) {
  return (
    <table class="grid" aria-labelledby={labelledBy}>
      <thead>
        <tr>
          <th scope="col">Shard</th>
          <th scope="col" class="num">
            In flight
          </th>
          <th scope="col" class="num">
            Unknown
          </th>
          <th scope="col" class="num">
            Failed
          </th>
          <th scope="col" class="num">
            Database
          </th>
        </tr>
      </thead>
      <tbody>
        {shards.map(({ shard, inFlight, unknown, failed, atLeast, bytes }) => (
          <tr>
            <th scope="row" class="mono">
              {shard}
            </th>
            <td class="num">{grouped(inFlight)}</td>
            <td class="num">{groupedAtLeast(unknown, atLeast.includes("unknown"))}</td>
            <td class="num">{groupedAtLeast(failed, atLeast.includes("failed"))}</td>
            <td class="num">{size(bytes)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const UNITS = ["kB", "MB", "GB"] as const;

/** Three digits at most are read at a glance. */
export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  let value = bytes / 1000;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 9.95 ? value.toFixed(1) : value.toFixed(0)} ${UNITS[unit]}`;
}
