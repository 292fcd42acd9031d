// The page at `/` of the demo origin: how many requests reached it, how many took effect, and the commands to try. It is
// self-contained: it loads only the counters, from the origin that serves it.

/** `examples` is plain text; it is escaped. */
export function originPage(examples: string): string {
  return PAGE.replace("{{examples}}", () => escapeHtml(examples));
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Onceway demo origin</title>
<style>
  :root { color-scheme: light dark; --line: light-dark(#d8dce2, #3a4048); --soft: light-dark(#f5f6f8, #1d2126); }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
         background: light-dark(#fff, #14171a); color: light-dark(#1b1f24, #e4e7eb); }
  table { border-collapse: collapse; width: 100%; margin: 0 0 2rem; }
  th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
  th:not(:first-child), td:not(:first-child) { text-align: right; font-variant-numeric: tabular-nums; width: 9rem; }
  pre { background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: 1rem; overflow-x: auto; font-size: 13px; }
</style>
</head>
<body>
<h1>Onceway demo origin</h1>
<p>A small payments API behind the gateway. It does not recognize retries: every request that reaches it takes effect.</p>
<table><thead><tr><th>Route</th><th>Requests</th><th>Effects</th></tr></thead><tbody id="byRoute"></tbody></table>
<table><thead><tr><th>Idempotency key</th><th>Requests</th><th>Effects</th></tr></thead><tbody id="byKey"></tbody></table>
<h2>Try</h2>
<pre>{{examples}}</pre>
<p id="state" role="status"></p>
<script>
  function show(id, requests, effects) {
    const rows = Object.keys(requests).reverse().map((name) => {
      const row = document.createElement("tr");
      for (const value of [name, requests[name], effects[name] ?? 0]) row.insertCell().textContent = value;
      return row;
    });
    if (rows.length === 0) {
      const row = document.createElement("tr");
      row.insertCell().textContent = "nothing yet";
      rows.push(row);
    }
    document.getElementById(id).replaceChildren(...rows);
  }
  async function refresh() {
    const state = document.getElementById("state");
    try {
      const counters = await (await fetch("/v1/counters")).json();
      for (const id of ["byRoute", "byKey"]) show(id, counters.requests[id], counters.effects[id]);
      state.textContent = "";
    } catch {
      state.textContent = "The origin does not answer.";
    }
    setTimeout(refresh, 1000);
  }
  refresh();
</script>
</body>
</html>
`;
