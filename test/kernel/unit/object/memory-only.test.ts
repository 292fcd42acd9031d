// Objects and isolates leave memory after some idle seconds, with everything that they only remember. Each file of the running gateway
// that remembers anything is listed here with the reason why losing it is right. What operators are shown is so (G13): a number, a
// warning or a sentence that lives in memory would be untrue after a pause.

import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const SRC = fileURLToPath(new URL("../../../../src/", import.meta.url));

/** What runs in Workers and objects. */
const FOLDERS = ["kernel", "features", "operator", "worker"];

/** A member that changes, or a collection that grows, of a class or a module. */
const REMEMBERS =
  /^(?: {2}(?:static )?#[a-z]\w*(?:: [^=(\n]*)?(?: = .*)?;| {2}(?:readonly |static )+#?[a-z]\w*(?:: [^=(\n]*)? = new (?:Map|Set|WeakMap|Float64Array)\b.*|(?:const|let) [a-z]\w*(?:: [^=\n]*)? = new (?:Map|Set|WeakMap)\(\);|let .*)$/m;

/** It belongs to one request, body or answer, and ends with it. */
const OF_ONE_REQUEST = "ends with its request";
/** The rows are the truth; this saves reading them again. */
const OF_ROWS = "read again from rows";
/** Work that runs. What of it is unfinished when the memory goes is in rows, and the alarm finds it. */
const RUNNING = "work that runs, and keeps the object in memory; rows say what is left";
/** Pauses after failures, and what was tried. */
const ATTEMPTED = "spares others a repeated failure; a new instance may try again";
/** Saves work or calls. */
const CACHE = "saves work, and is made again";
/** Bounds what this instance spends. */
const LIMIT = "limits what this instance does; a new one has done nothing yet";

const WHY: Readonly<Record<string, string>> = {
  "kernel/request/body-reader.ts": OF_ONE_REQUEST,
  "kernel/request/body.ts": OF_ONE_REQUEST,
  "kernel/request/byte-budget.ts": LIMIT,
  "kernel/encryption/encryption.ts": CACHE,
  "kernel/resume/event-stream.ts": OF_ONE_REQUEST,
  "kernel/request/expiring-cache.ts": CACHE,
  "kernel/request/headers.ts": OF_ONE_REQUEST,
  "features/identities/identity.ts": CACHE, // feature: identities
  "features/identities/signature/agent-keys.ts": CACHE, // feature: identities
  "features/identities/signature/signature-key.ts": CACHE, // feature: identities
  "kernel/request/key-set.ts": CACHE,
  "kernel/request/message-stream.ts": OF_ONE_REQUEST,
  "features/forms/multipart.ts": OF_ONE_REQUEST, // feature: forms
  "kernel/request/pace.ts": OF_ONE_REQUEST,
  "kernel/request/replay-cache.ts": CACHE,
  "kernel/request/rotating-tokens.ts": "which tokens were looked at; what was noticed is counted, and handed over",
  "kernel/request/shared-work.ts": RUNNING,
  "kernel/request/time-slicer.ts": LIMIT,
  "kernel/request/token-auth.ts": LIMIT,
  "features/bulk/operator/change-all.ts": OF_ONE_REQUEST, // feature: bulk
  "features/decisions/operator/decide-all.ts": OF_ONE_REQUEST, // feature: decisions
  "operator/list.ts": OF_ONE_REQUEST,
  "kernel/object/alarm.ts": "when the alarm stands; a new instance asks the platform",
  "kernel/object/attempt.ts": RUNNING,
  "kernel/object/attempts-in-flight.ts": RUNNING,
  "kernel/object/isolate-work.ts": RUNNING,
  "kernel/body/byte-pipe.ts": OF_ONE_REQUEST,
  "kernel/body/chunk.ts": OF_ONE_REQUEST,
  "kernel/resume/event-offsets.ts": CACHE,
  "kernel/overflow/overflow.ts": OF_ONE_REQUEST,
  "kernel/body/passed-body.ts": OF_ONE_REQUEST,
  "kernel/body/read-memory.ts": LIMIT,
  "kernel/body/request-body.ts": OF_ONE_REQUEST,
  "kernel/body/spool-readers.ts": OF_ONE_REQUEST,
  "kernel/body/spool.ts": OF_ONE_REQUEST,
  "kernel/body/stored-stream.ts": OF_ONE_REQUEST,
  "features/outbox/object/destination-memory.ts": "which lanes fail in a row; rows say when each is tried", // feature: outbox
  "features/accepted/object/accepted-attempts.ts": RUNNING, // feature: accepted
  "kernel/object/exchange-answer.ts": OF_ONE_REQUEST,
  "kernel/object/exchange.ts": OF_ONE_REQUEST,
  "kernel/object/gatherer.ts":
    "what is stored of other objects, and which of them are being asked: a new instance reads the one and asks anew",
  "kernel/object/heartbeat.ts": RUNNING,
  "kernel/object/kept-counts.ts":
    "written a quarter of a second to five seconds later, and before it is shown; src/kernel/traffic/README.md says what a crash can take",
  "kernel/object/kept-form.ts": OF_ONE_REQUEST,
  "worker/key-shard.ts": ATTEMPTED,
  "features/accepted/object/monitor.ts": LIMIT, // feature: accepted
  "kernel/new-keys/new-keys.ts": RUNNING,
  "features/claims/call-claims.ts": "ends with its request", // feature: claims
  "features/claims/object/open-offsets.ts": OF_ROWS, // feature: claims
  "features/previous-shards/object/closed-before.ts": OF_ROWS, // feature: previous-shards
  "features/previous-shards/object/closed-object.ts": OF_ROWS, // feature: previous-shards
  "features/outbox/object/relay.ts": RUNNING, // feature: outbox
  "features/claims/object/partition-positions.ts": "ends with its turn", // feature: claims
  "kernel/verify/verifications.ts": RUNNING,
  "kernel/object/reachability.ts": ATTEMPTED,
  "kernel/previous-scope/aliases.ts": OF_ROWS,
  "features/json-rpc/event-reader.ts": OF_ONE_REQUEST, // feature: json-rpc
  "features/audit/object/audit-log-store.ts": OF_ROWS, // feature: audit
  "features/placement/object/enrolling.ts": OF_ROWS, // feature: placement
  "features/placement/object/traced-place.ts": CACHE, // feature: placement
  "features/observe/body-copy.ts": OF_ONE_REQUEST, // feature: observe
  "features/observe/object/sighting-days.ts": OF_ROWS, // feature: observe
  "features/observe/object/sighting-rows.ts": OF_ROWS, // feature: observe
  "features/observe/request-look.ts": OF_ONE_REQUEST, // feature: observe
  "features/observe/sighter.ts": "lost with its isolate, as its page says", // feature: observe
  "kernel/store/bodies.ts": OF_ROWS,
  "kernel/store/counts.ts": OF_ROWS,
  "kernel/store/due-records.ts": OF_ROWS,
  "kernel/store/expired-records.ts": CACHE,
  "kernel/store/expiry-buckets.ts": OF_ROWS,
  "kernel/store/ledger.ts": OF_ROWS,
  "kernel/store/record-list.ts": CACHE,
  "kernel/store/record-numbers.ts": OF_ROWS,
  "kernel/overflow/remote-bodies.ts": ATTEMPTED,
  "features/outbox/object/rests.ts": OF_ROWS, // feature: outbox
  "kernel/object/timers.ts": RUNNING,
  "kernel/object/totals.ts": OF_ROWS,
  "kernel/object/waiters.ts": RUNNING,
  "kernel/traffic/histogram.ts": "a part of kept-counts.ts, or of an isolate's batch",
  "kernel/traffic/replay-counts.ts": "a part of kept-counts.ts, or of an isolate's batch",
  "kernel/traffic/route-counters.ts": "a part of kept-counts.ts, or of an isolate's batch",
  "kernel/traffic/tally.ts": "a part of kept-counts.ts, or of an isolate's batch",
  "kernel/traffic/hop-meter.ts": "samples of a histogram, which says that it counts nothing",
  "kernel/traffic/traffic-flusher.ts":
    "handed over within ten seconds; src/kernel/traffic/README.md says what the end of an isolate can take",
  "kernel/traffic/traffic.ts":
    "the live view (GET /recent): the latest exchanges, as its page says; counts are in kept-counts.ts",
};

function filesThatRemember(): readonly string[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(SRC, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  )
    .filter((name) => /\.tsx?$/.test(name) && !name.includes("/browser/"))
    .filter((name) => REMEMBERS.test(readFileSync(join(SRC, name), "utf8")))
    .map((name) => relative(".", name))
    .toSorted();
}

it("everything that lives in memory only is listed, with the reason why that is right", () => {
  expect(filesThatRemember()).toEqual(Object.keys(WHY).toSorted());
});
