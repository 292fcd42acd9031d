// The page of the audit log: what operators did, newest first. It can only be read.

import type { Hono } from "hono";
import type { OperatorsAudit, AuditPages } from "./operators-audit.ts";
import { parseAuditQuery } from "./audit-api.ts";
import type { SignedRequest } from "../../../operator/console/guard.ts";
import { ConsolePage, showPage } from "../../../operator/console/page.tsx";
import { DataTable } from "../../../operator/console/table.tsx";
import { TimeText } from "../../../operator/console/time.tsx";
import type { ConsolePaths, ConsoleView } from "../../../operator/console/view.ts";

export function auditRoutes(app: Hono<SignedRequest>, paths: ConsolePaths, audit: Pick<OperatorsAudit, "page">): void {
  app.get(paths.below("audit"), async (c) => {
    const search = new URL(c.req.url).searchParams;
    const parsed = parseAuditQuery(search, Date.now());
    if (!parsed.ok) return c.notFound();
    const page = await audit.page(parsed.value);
    if (page.next !== null) search.set("cursor", String(page.next));
    return showPage(
      <AuditLogPage view={c.var.view} page={page} next={`${paths.below("audit")}?${search.toString()}`} />,
    );
  });
}

function AuditLogPage({
  view,
  page: { entries, next: more },
  next,
}: {
  view: ConsoleView;
  page: AuditPages;
  next: string;
}) {
  return (
    <ConsolePage view={view} place="audit" title="Audit log">
      <h1 id="audit">Audit log</h1>
      {entries.length === 0 ? <p class="empty">Nothing.</p> : null}
      <section class="card">
        <DataTable
          labelledBy="audit"
          columns={[["When", "when"], ["Who"], ["From"], ["What"], ["Outcome"], ["Why"]]}
          rows={entries.map(({ at, by, address, action, target, key, label, outcome, reason }) => [
            <TimeText at={at} now={view.now} />,
            by,
            address,
            <>
              {action}{" "}
              {target !== null && /^[0-9a-f]{64}$/.test(target) ? (
                <a class="mono" href={`${view.paths.records}/${target}`}>
                  {target.slice(0, 12)}
                </a>
              ) : (
                target
              )}{" "}
              {label} <span class="mono">{key}</span>
            </>,
            outcome ?? "not known",
            reason ?? "–",
          ])}
        />
      </section>
      {more === null ? null : <a href={next}>Older</a>}
    </ConsolePage>
  );
}
