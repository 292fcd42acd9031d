// What happened, in one line each: the records whose outcome became unknown together. The console's overview and the command line show them.
// Pure; imports nothing that needs the Worker.

/** Longer without another one, and it is another outage. */
const PAUSE_MS = 300_000;

/** What is known of a record whose outcome is unknown. */
export interface UnknownRecord {
  readonly route: string;
  /** How its attempt ended. */
  readonly reason: string | null;
  readonly startedAt: number;
  /** With a digest of the caller, as far as they are noted. */
  readonly request: { readonly caller: string | null } | null;
}

export interface OutageSummary {
  readonly route: string;
  readonly reason: string | null;
  readonly count: number;
  /** When the first and the last of the attempts started. */
  readonly first: number;
  readonly last: number;
  readonly callers: number;
  /** There may be more, because not all records were looked at. */
  readonly isAtLeast: boolean;
}

/** The largest first. `isCut`: these are not all records whose outcome is unknown. */
export function outagesIn(records: readonly UnknownRecord[], isCut = false): readonly OutageSummary[] {
  const alike = Map.groupBy(records, ({ route, reason }) => JSON.stringify([route, reason]));
  return [...alike.values()]
    .flatMap((group) => splitAtPauses(group, isCut))
    .toSorted((one, other) => other.count - one.count || other.last - one.last);
}

/** Records of one route and reason, divided where nothing happened for a while. */
function splitAtPauses(records: readonly UnknownRecord[], isAtLeast: boolean): readonly OutageSummary[] {
  const groups: UnknownRecord[][] = [];
  let before = Number.NEGATIVE_INFINITY;
  for (const record of records.toSorted((one, other) => one.startedAt - other.startedAt)) {
    if (record.startedAt - before > PAUSE_MS) groups.push([]);
    groups.at(-1)?.push(record);
    before = record.startedAt;
  }
  return groups.flatMap((group) => {
    const [first, last] = [group[0], group.at(-1)];
    if (first === undefined || last === undefined) return [];
    const callers = new Set(group.flatMap(({ request }) => request?.caller ?? [])).size;
    const { route, reason } = first;
    return [{ route, reason, count: group.length, first: first.startedAt, last: last.startedAt, callers, isAtLeast }];
  });
}

/** "120 on /v1/payments, 06:45:22 to 06:45:25 UTC, origin-dropped, 7 callers" */
export function outageText(
  { route, reason, count, first, last, callers, isAtLeast }: OutageSummary,
  now: number,
): string {
  const isShort = Math.floor(first / 1000) === Math.floor(last / 1000);
  const time = isShort ? timeText(first, now) : `${timeText(first, now)} to ${timeText(last, first)}`;
  return [
    `${count.toLocaleString("en-US")}${isAtLeast ? "+" : ""} on ${route}`,
    `${time} UTC`,
    ...(reason === null ? [] : [reason]),
    ...(callers === 0 ? [] : [callers === 1 ? "1 caller" : `${callers} callers`]),
  ].join(", ");
}

/** The day only where it is another one than that of `beside`. */
function timeText(at: number, beside: number): string {
  const [day, time] = [dayOf(at), new Date(at).toISOString().slice(11, 19)];
  return day === dayOf(beside) ? time : `${day} ${time}`;
}

function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** The conditions of a list that has just these records, or few others of the same time. */
export function outageQuery({
  route,
  first,
  last,
}: OutageSummary): Readonly<Record<"state" | "route" | "since" | "until", string>> {
  return { state: "unknown", route, since: new Date(first).toISOString(), until: new Date(last).toISOString() };
}
