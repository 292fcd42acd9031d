// The entry for operators: the API and the console. Both share one count of wrong tokens per network, and one audit log.

import type { OperatorAccess } from "../kernel/config/operators.ts";
import type { Config } from "../kernel/config/resolved.ts";
import type { WorkerFeature } from "../kernel/worker-feature.ts";
import { ExpiringCache } from "../kernel/request/expiring-cache.ts";
import { type JwtPorts, JwtProver } from "../kernel/request/jwt-prover.ts";
import { createOperatorApi } from "./api.ts";
import { type AuditLog, auditedOperator } from "./audited.ts";
import { OperatorAuth } from "./access/auth.ts";
import { createConsole } from "./console/console.tsx";
import type { HoursView } from "./hours-schema.ts";
import type { AllCounts, Operator } from "./operator.ts";
import { outagesIn, type OutageSummary } from "./outages.ts";
import { LIST_LIMITS } from "./request-schema.ts";
import type { TrafficReader } from "./traffic-reader.ts";

/** Open overviews refresh every two seconds, and each time all shards would have to be asked. */
const RECENT_MS = 30_000;
const OUTAGES_MS = 10_000;

type Handle = (request: Request) => Response | Promise<Response>;

export interface OperatePorts extends JwtPorts {
  readonly operator: Operator;
  readonly audit: AuditLog;
  readonly reader: TrafficReader;
  readonly features: readonly WorkerFeature[];
}

/** `access` is `null` when operators have no access: then every path is 404. */
export function createOperate(
  { operatorPath, environment, routes }: Config,
  access: OperatorAccess | null,
  { operator: unaudited, audit, reader, features: all, ...jwtPorts }: OperatePorts,
): Handle {
  const operator = auditedOperator(unaudited, audit);
  const features = all.flatMap((feature) => feature.operator ?? []);
  const ports = { operator, reader, features };
  if (access === null) return createOperatorApi(operatorPath, null, ports);
  const prover = new JwtProver(access.access === null ? [] : [access.access.issuer], jwtPorts);
  const auth = new OperatorAuth(access, prover);
  const api = createOperatorApi(operatorPath, auth, ports);
  const paths = [...new Set(routes.map(({ path }) => path))];
  const recent = new ExpiringCache<HoursView>();
  const outages = new ExpiringCache<readonly OutageSummary[]>();
  const console = createConsole({
    basePath: operatorPath,
    environment,
    operator,
    features: features.flatMap((feature) => feature.console ?? []),
    recentHours: (now) => recent.getOr("all", now, RECENT_MS, () => reader.hours(false)),
    outages: async (now, counts) => {
      const { unknown } = counts.total;
      return unknown < 2 ? [] : outages.getOr(String(unknown), now, OUTAGES_MS, () => findOutages(operator, counts));
    },
    warnings: () => reader.warnings(),
    routes: paths,
    tokens: access.tokens,
    auth,
  });
  return (request) => {
    const { pathname } = new URL(request.url);
    const isConsoles = pathname === operatorPath || pathname.startsWith(`${operatorPath}/console/`);
    return isConsoles ? console.fetch(request) : api(request);
  };
}

/** Of the latest records whose outcome is unknown, as many as a list has on a page. */
async function findOutages(
  operator: Operator,
  counts: Pick<AllCounts, "shards" | "unreachable" | "total">,
): Promise<readonly OutageSummary[]> {
  const records = await operator.latestUnknown(counts, LIST_LIMITS.maxLimit);
  return outagesIn(records, records.length < counts.total.unknown);
}

/** All tokens of operators. */
export function operatorTokens(access: OperatorAccess | null): readonly string[] {
  return access === null ? [] : access.tokens.flatMap(({ values }) => values);
}
