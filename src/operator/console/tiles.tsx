// The figures at the top of a page. Each leads to what it counts: the whole tile is a link.

import { groupedAtLeast } from "./rates.tsx";

export interface TileProps {
  readonly name: string;
  readonly figure: string;
  readonly says: string;
  readonly alert?: boolean;
  readonly href?: string;
}

export function FigureTile({ name, figure, says, alert = false, href }: TileProps) {
  return (
    <div class={alert ? "alert" : undefined}>
      <dt>{href === undefined ? name : <a href={href}>{name}</a>}</dt>
      <dd class="n">{figure}</dd>
      <dd class="soft small">{says}</dd>
    </div>
  );
}

interface CountTileProps extends Omit<TileProps, "figure"> {
  readonly count: number;
  readonly isAtLeast?: boolean;
}

export function CountTile({ count, isAtLeast = false, ...tile }: CountTileProps) {
  return <FigureTile {...tile} figure={groupedAtLeast(count, isAtLeast)} />;
}
