// The pages that change nothing, and the body of a response as a file.

import type { Hono } from "hono";
import { recordId } from "../../kernel/record/units.ts";
import { type ListRequest, NO_PAGE } from "../list-request.ts";
import type { Operator, RecordPage } from "../operator.ts";
import { ID_PREFIX } from "../request-schema.ts";
import { outcomesIn, preventedIn } from "./day-counts.ts";
import type { SignedRequest } from "./guard.ts";
import { OverviewPage } from "./overview.tsx";
import { showPage } from "./page.tsx";
import { RecordDetailPage } from "./record.tsx";
import { readFilter, RecordsPage } from "./records.tsx";
import type { ExampleFinder } from "../resolve-example.ts";
import { ShardsPage } from "./shards.tsx";
import { ratesOf } from "./traffic.ts";
import type { ConsolePorts, ConsolePaths } from "./view.ts";

/** Shown on the list, because the record has no page any more. */
const FORGOTTEN =
  "Forgotten. The next request with this key counts as a first request, on every Worker within 30 seconds.";

export function pageRoutes(
  app: Hono<SignedRequest>,
  paths: ConsolePaths,
  { operator, recentHours, outages: findOutages, warnings: readWarnings, routes }: ConsolePorts,
  examples: ExampleFinder,
): void {
  app.get(paths.overview, async (c) => {
    const { now } = c.var.view;
    const [counts, warnings, day] = await Promise.all([operator.counts(), readWarnings(), recentHours(now)]);
    // Usually there is nothing to list, so that a refresh asks no shard for it.
    const [inFlight, undecided, outages] = await Promise.all([
      operator.oldest("started", counts),
      operator.oldest("unknown", counts),
      findOutages(now, counts),
    ]);
    const { total, unreachable, notAsked } = counts;
    const props = {
      total,
      unreachable,
      notAsked,
      warnings,
      rates: ratesOf(outcomesIn(day)),
      inFlight,
      undecided,
      outages,
      prevented: preventedIn(day),
      isPerKey: operator.isPerKey,
    };
    return showPage(<OverviewPage view={c.var.view} {...props} />);
  });

  app.get(paths.shards, async (c) => showPage(<ShardsPage view={c.var.view} {...await operator.counts()} />));

  app.get(paths.records, async (c) => {
    const search = new URL(c.req.url).searchParams;
    const filter = readFilter(search);
    const { request } = filter;
    const listed = request === null ? null : await find(operator, request);
    const problem = filter.problem ?? (listed === null ? `${NO_PAGE} Search again.` : null);
    return showPage(
      <RecordsPage
        view={c.var.view}
        filter={{ ...filter, problem }}
        listed={listed}
        routes={routes}
        isFirstPage={request?.cursor === null}
        isPerKey={operator.isPerKey}
        done={search.get("done") === "forget" ? FORGOTTEN : null}
      />,
      problem === null ? 200 : 400,
    );
  });

  app.get(`${paths.records}/:id{[0-9a-f]{64}}`, async (c) => {
    const record = await operator.inspect(recordId(c.req.param("id")));
    if (record === null) return c.notFound();
    const { view } = c.var;
    const example = await examples.of(record, view.viewer.actor, view.now);
    return showPage(<RecordDetailPage view={view} record={record} draft={null} example={example} />);
  });

  // By a form, because it writes to the audit log: an address alone could be in an image of any page.
  app.post(`${paths.records}/:id{[0-9a-f]{64}}/body`, async (c) => {
    const body = await operator.body(recordId(c.req.param("id")), c.var.view.viewer.actor);
    if (body === null) return c.notFound();
    // Never shown by the browser: it is the origin's content on the console's host.
    return c.body(body, 200, {
      "Content-Type": "application/octet-stream",
      "Content-Disposition": 'attachment; filename="body"',
    });
  });
}

/** The one search field takes a key, or the start of an id as logs show it. */
async function find(operator: Operator, { filter, limit, cursor }: ListRequest): Promise<RecordPage | null> {
  const found = await operator.list(filter, limit, cursor);
  const { key } = filter;
  const isFound = found !== null && (found.records.length > 0 || found.cursor !== null);
  if (isFound || key === null || !ID_PREFIX.test(key)) return found;
  return (await operator.list({ ...filter, key: null, idPrefix: key }, limit, cursor)) ?? found;
}
