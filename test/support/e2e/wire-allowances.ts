// Every difference that may be between two ways, with its reason, which is a line of the tables in src/kernel/request/README.md ("What
// the origin gets"). Whatever else is different is a defect; and a line that no difference needs is untrue.

import type { Allowance, Difference } from "./wire-differences.ts";
import type { WireCase } from "./wire-ways.ts";

type Allows = Allowance["allows"];

const header =
  (at: Difference["at"], ...names: readonly string[]): Allows =>
  (difference) =>
    difference.at === at && names.some((name) => difference.what === `header ${name}`);

const fact =
  (at: Difference["at"], ...whats: readonly string[]): Allows =>
  (difference) =>
    difference.at === at && whats.includes(difference.what);

const any =
  (...all: readonly Allows[]): Allows =>
  (difference, of) =>
    all.some((one) => one(difference, of));

const both =
  (...all: readonly Allows[]): Allows =>
  (difference, of) =>
    all.every((one) => one(difference, of));

const isHeader: Allows = ({ what }) => what.startsWith("header ");

function lines(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

/** As one line, without elements that say nothing. */
function joinedLine(value: unknown): string {
  return lines(value)
    .flatMap((line) => line.split(","))
    .map((element) => element.trim())
    .filter((element) => element !== "")
    .join(", ");
}

const isGone: Allows = ({ other }) => lines(other).length === 0;

const joined: Allows = ({ one, other }) => joinedLine(one) === joinedLine(other);

/** The bytes of text that is no UTF-8. */
const undecodable: Allows = ({ one, other }) => {
  const decoded = (value: unknown): string => Buffer.from(joinedLine(value), "latin1").toString("utf8");
  return decoded(one) === decoded(other);
};

/** What the URL standard makes of the target. */
const isNormalised: Allows = ({ at, what, other }, { target }) => {
  if (at !== "origin" || what !== "target") return false;
  const { pathname, search } = new URL(`http://h${target}`);
  return other === pathname + search;
};

const ofTarget =
  (pattern: RegExp): Allows =>
  (difference, of) =>
    pattern.test(of.target) && isNormalised(difference, of);

const ofAnswer =
  (pattern: RegExp): Allows =>
  (_difference, { answer }: WireCase) =>
    pattern.test(answer.bytes);

const HOP_BY_HOP = ["connection", "keep-alive", "te", "trailer", "upgrade"];
const FRAMING = ["content-length", "transfer-encoding"];

/** Straight, against a Worker that only forwards. */
export const BY_PLATFORM: readonly Allowance[] = [
  { reason: "dot segments are resolved, `%2e` among them", allows: ofTarget(/\/(?:\.|%2e){1,2}(?:[/?#]|$)/i) },
  { reason: "a backslash becomes a slash", allows: ofTarget(/^[^?]*\\/) },
  { reason: "characters that no URL has are escaped", allows: ofTarget(/["<>^`{|}]/) },
  { reason: "a fragment (`#…`) is dropped", allows: ofTarget(/#/) },
  { reason: "an empty query loses its `?`", allows: ofTarget(/\?(?:#|$)/) },
  { reason: "`Host` is the origin's own, where the origin is a URL", allows: header("origin", "host") },
  {
    reason: "headers come in another order, and repeated names in one spelling",
    allows: fact("origin", "order", "spelling"),
  },
  { reason: "the answer's headers come in another order too", allows: fact("client", "order", "spelling") },
  {
    reason: "lines of one name become one line, except `Set-Cookie`; `Cookie` lines are joined with a comma too",
    allows: both(isHeader, joined),
  },
  {
    reason: "`Connection` and what belongs to it is dropped, both ways",
    allows: any(header("origin", ...HOP_BY_HOP), header("client", ...HOP_BY_HOP)),
  },
  { reason: "trailers are dropped", allows: fact("origin", "trailers") },
  {
    reason: "a GET or HEAD loses a body that comes in chunks",
    allows: both(fact("origin", "body"), (_difference, { method }) => method === "GET" || method === "HEAD"),
  },
  {
    reason: "a body may be framed in another way",
    allows: any(header("origin", ...FRAMING), header("client", ...FRAMING)),
  },
  {
    reason: "interim answers (102, 103) are dropped, and `Expect: 100-continue` is answered at once",
    allows: fact("client", "interim"),
  },
  { reason: "a reason phrase beyond ASCII is dropped, and 101 has its usual one", allows: fact("client", "reason") },
  {
    reason: "a WebSocket has a key and masks of its own",
    allows: any(
      header("origin", "sec-websocket-key"),
      header("client", "sec-websocket-accept"),
      both(fact("client", "body", "complete"), ofAnswer(/^HTTP\/1\.1 101/)),
    ),
  },
];

/** A Worker that only forwards, against the gateway, where no route protects. */
export const BY_PASSING: readonly Allowance[] = [
  {
    reason: "`X-Forwarded-Host`, `X-Forwarded-Proto` are set",
    allows: header("origin", "x-forwarded-host", "x-forwarded-proto"),
  },
  { reason: "`Forwarded` is dropped", allows: header("origin", "forwarded") },
  {
    reason: "`Idempotency-Attempt`, and the `Onceway-` headers of a queue's message, are dropped",
    allows: both(header("origin", "idempotency-attempt", "onceway-queue"), ({ other }) => lines(other).length === 0),
  },
  {
    reason: "a name that a CGI-style server reads as one of these, such as `X_Forwarded_Host`, is dropped",
    allows: both(header("origin", "x_forwarded_host", "idempotency_attempt"), isGone),
  },
  // Random in either.
  {
    reason: "a WebSocket has a key and masks of its own",
    allows: any(header("origin", "sec-websocket-key"), header("client", "sec-websocket-accept")),
  },
];

const isCutShort = ofAnswer(/half$/);

/** A Worker that only forwards, against the gateway's first answer to a key. */
export const BY_FIRST: readonly Allowance[] = [
  ...BY_PASSING.slice(0, 2),
  ...BY_PASSING.slice(3, 4),
  {
    reason: "`Idempotency-Attempt` numbers the attempt",
    allows: both(header("origin", "idempotency-attempt"), ({ other }) => lines(other)[0] === "1"),
  },
  { reason: "`traceparent` names the attempt as the parent", allows: header("origin", "traceparent") },
  {
    reason: "names are in lower case, in one order, and lines of one name are one line",
    allows: any(fact("origin", "order", "spelling"), fact("client", "order", "spelling"), both(isHeader, joined)),
  },
  { reason: "bytes of a value that are not UTF-8 become U+FFFD", allows: both(isHeader, undecodable) },
  {
    reason: "a small body has a length, both ways",
    allows: any(header("origin", ...FRAMING), header("client", ...FRAMING)),
  },
  {
    reason: "what `Connection` names, and `Proxy-…` headers that are for the next hop, are dropped",
    allows: both(
      any(
        header("origin", "x-hop", "proxy-authorization", "proxy-connection"),
        header("client", "x-hop", "proxy-authenticate"),
      ),
      ({ other }) => lines(other).length === 0,
    ),
  },
  {
    reason:
      "a name with `_` that a CGI-style server reads as another header of the request, or as one that proxies set, is dropped",
    allows: any(
      both(header("origin", "x_one"), isGone, (_difference, { headers }) =>
        headers.some(([name]) => name.toLowerCase() === "x-one"),
      ),
      both(header("origin", "x_forwarded_for"), isGone),
    ),
  },
  {
    reason:
      "`Idempotency-Key`, `Idempotency-Status`, `Idempotency-Expires` and `Idempotent-Replayed` of an answer come from the gateway only",
    allows: header("client", "idempotency-key", "idempotency-status", "idempotency-expires", "idempotent-replayed"),
  },
  {
    reason: "an answer that was cut short becomes a problem, or is cut short too",
    allows: both(isCutShort, any(isHeader, fact("client", "status", "reason", "body", "complete"))),
  },
];

/** The first answer, against its replay. */
export const BY_REPLAY: readonly Allowance[] = [
  {
    reason: "`Idempotent-Replayed: true` is added",
    allows: both(header("client", "idempotent-replayed"), ({ other }) => lines(other)[0] === "true"),
  },
  {
    reason: "`Idempotency-Status` is `first`, then `replayed`",
    allows: both(header("client", "idempotency-status"), ({ other }) => lines(other)[0] === "replayed"),
  },
  { reason: "a body has a length, even if the first came in chunks", allows: header("client", ...FRAMING) },
  {
    reason: "`Idempotency-Expires` is added if the first answer had begun before the time was known",
    allows: both(header("client", "idempotency-expires"), ({ one }) => lines(one).length === 0),
  },
  {
    reason: "`Set-Cookie` is left out (`omit_headers`)",
    allows: both(header("client", "set-cookie"), ({ other }) => lines(other).length === 0),
  },
];
