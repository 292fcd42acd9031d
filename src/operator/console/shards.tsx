// Every shard.

import type { ShardCounts } from "../operator.ts";
import { Page } from "./page.tsx";
import { ShardsTable } from "./shards-table.tsx";
import type { View } from "./view.ts";

export function Shards({ view, shards }: { readonly view: View; readonly shards: readonly ShardCounts[] }) {
  return (
    <Page view={view} place="shards" title="Shards">
      <h1 id="shards-title">Shards</h1>
      <section class="card" id="shards" data-live>
        {shards.length === 0 ? (
          <p class="empty">
            Every key has an object of its own (shards = "per-key"), and those cannot be listed. Search a record by its
            key.
          </p>
        ) : (
          <ShardsTable shards={shards} labelledBy="shards-title" />
        )}
      </section>
    </Page>
  );
}
