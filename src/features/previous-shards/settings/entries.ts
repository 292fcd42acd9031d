// The setting of previous layouts, and what it adds to a route.

import * as v from "valibot";

import type { Layouts, ShardsSetting } from "../../../kernel/config/layout.ts";
import { settingOf, type TextsOf } from "../../../kernel/config/setting-kinds.ts";
import { layoutOf, type LayoutSettings, shardsSchema } from "../../../kernel/config/settings-origin.ts";
import { type Jurisdiction, JURISDICTIONS } from "../../../kernel/config/words.ts";
import { MAX_STEPS } from "../walk.ts";

/** A request asks each listed layout, the one in force, and one that none of them is. */
const MAX_PREVIOUS = MAX_STEPS - 2;

const MESSAGE = 'must be a list of earlier values of shards: write [64], or [{ shards = 64, jurisdiction = "none" }]';

/** A layout with its jurisdiction. Both members are needed, so that the entry means the same whatever is in force. */
const layoutTable = v.strictObject(
  { shards: shardsSchema(), jurisdiction: v.picklist([...JURISDICTIONS, "none"], MESSAGE) },
  MESSAGE,
);

export interface PreviousShardsSettings {
  readonly previous_shards: readonly (
    | ShardsSetting
    | { readonly shards: ShardsSetting; readonly jurisdiction: Jurisdiction | "none" }
  )[];
}

export const previousShardsEntries = {
  previous_shards: settingOf(
    v.pipe(
      v.array(v.union([shardsSchema(), layoutTable], MESSAGE), MESSAGE),
      v.metadata({ maxItems: MAX_PREVIOUS }),
      v.maxLength(MAX_PREVIOUS, `must have at most ${MAX_PREVIOUS} entries: leave out those whose objects are empty`),
    ),
    [],
  ),
};

export const previousShardsTexts: TextsOf<typeof previousShardsEntries> = {
  previous_shards: {
    description:
      "Earlier values of `shards`, oldest first. Old keys keep working. Once the old objects are closed, each new key costs " +
      "one extra call until they are empty. Where `jurisdiction` changed, every entry " +
      'names its own: `{ shards = 64, jurisdiction = "none" }`.',
    takes: "a list of values of `shards`, or of tables with `shards` and `jurisdiction`",
    onChange: "applies at once; **a layout that is taken out before it is empty is forgotten**",
  },
};

/** The layout in force, and those before it. An entry without a jurisdiction has that of the layout in force. */
export function layoutsOf(settings: LayoutSettings & PreviousShardsSettings): Layouts {
  const own = layoutOf(settings);
  const previous = settings.previous_shards.map((entry) =>
    typeof entry === "object"
      ? { ...own, ...entry, jurisdiction: entry.jurisdiction === "none" ? null : entry.jurisdiction }
      : { ...own, shards: entry },
  );
  return { own, previous };
}
