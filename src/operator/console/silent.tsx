// Which shards do not answer, above whatever the others say. A live region that is there without them, too, so that the
// notice comes and goes on an open page.

export function Silent({ silent }: { readonly silent: readonly string[] }) {
  return (
    <div id="silent" data-live>
      {silent.length === 0 ? null : (
        <p class="note error" role="status">
          <strong>{silentText(silent)}.</strong> What is there is not shown and not counted on this page:{" "}
          <span class="mono">{silent.join(", ")}</span>
        </p>
      )}
    </div>
  );
}

export function silentText(silent: readonly string[]): string {
  return silent.length === 1 ? "A shard does not answer" : `${silent.length} shards do not answer`;
}
