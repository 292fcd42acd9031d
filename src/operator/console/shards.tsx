// Every shard.

import type { AllCounts } from "../operator.ts";
import { Page } from "./page.tsx";
import { ShardsTable } from "./shards-table.tsx";
import { Silent } from "./silent.tsx";
import type { View } from "./view.ts";

export function Shards({ view, shards, silent }: { readonly view: View } & AllCounts) {
  return (
    <Page view={view} place="shards" title="Shards">
      <h1 id="shards-title">Shards</h1>
      <Silent silent={silent} />
      <section class="card" id="shards" data-live>
        {shards.length + silent.length === 0 ? (
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
