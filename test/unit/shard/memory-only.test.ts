// Objects and isolates leave memory after some idle seconds, with everything that they only remember. Each file of the running gateway
// that remembers anything is listed here with the reason why losing it is right. What operators are shown is so (G13): a number, a
// warning or a sentence that lives in memory would be untrue after a pause.

import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const SRC = fileURLToPath(new URL("../../../src/", import.meta.url));

/** What runs in Workers and objects. */
const FOLDERS = ["shard", "traffic", "http", "operator", "outbox", "claims", "events"];

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
  "http/body-reader.ts": OF_ONE_REQUEST,
  "http/body.ts": OF_ONE_REQUEST,
  "http/byte-budget.ts": LIMIT,
  "http/canonical-json.ts": OF_ONE_REQUEST,
  "http/encryption.ts": CACHE,
  "http/event-stream.ts": OF_ONE_REQUEST,
  "http/expiring-cache.ts": CACHE,
  "http/headers.ts": OF_ONE_REQUEST,
  "http/identity.ts": CACHE,
  "http/json-members.ts": OF_ONE_REQUEST,
  "http/json-number.ts": OF_ONE_REQUEST,
  "http/json-pointer.ts": OF_ONE_REQUEST,
  "http/json-selection.ts": OF_ONE_REQUEST,
  "http/json-string.ts": OF_ONE_REQUEST,
  "http/json-trails.ts": OF_ONE_REQUEST,
  "http/key-set.ts": CACHE,
  "http/message-stream.ts": OF_ONE_REQUEST,
  "http/multipart.ts": OF_ONE_REQUEST,
  "http/pace.ts": OF_ONE_REQUEST,
  "http/replay-cache.ts": CACHE,
  "http/rotating-tokens.ts": "which tokens were looked at; what was noticed is counted, and handed over",
  "http/shared-work.ts": RUNNING,
  "http/time-slicer.ts": LIMIT,
  "http/token-auth.ts": LIMIT,
  "operator/change-all.ts": OF_ONE_REQUEST,
  "operator/list.ts": OF_ONE_REQUEST,
  "shard/alarm.ts": "when the alarm stands; a new instance asks the platform",
  "shard/attempt.ts": RUNNING,
  "shard/attempts-in-flight.ts": RUNNING,
  "shard/body/byte-pipe.ts": OF_ONE_REQUEST,
  "shard/body/chunk.ts": OF_ONE_REQUEST,
  "shard/body/event-offsets.ts": CACHE,
  "shard/body/overflow.ts": OF_ONE_REQUEST,
  "shard/body/passed-body.ts": OF_ONE_REQUEST,
  "shard/body/read-memory.ts": LIMIT,
  "shard/body/request-body.ts": OF_ONE_REQUEST,
  "shard/body/spool-readers.ts": OF_ONE_REQUEST,
  "shard/body/spool.ts": OF_ONE_REQUEST,
  "shard/body/stored-stream.ts": OF_ONE_REQUEST,
  "shard/destination-memory.ts": "which lanes fail in a row; a new instance tries each again, and rows say when",
  "shard/drives.ts": RUNNING,
  "shard/elder-questions.ts": ATTEMPTED,
  "shard/elders.ts": OF_ROWS,
  "shard/exchange-answer.ts": OF_ONE_REQUEST,
  "shard/exchange.ts": OF_ONE_REQUEST,
  "shard/heartbeat.ts": RUNNING,
  "shard/kept-counts.ts":
    "written a quarter of a second to five seconds later, and before it is shown; src/traffic/README.md says what a crash can take",
  "shard/kept-form.ts": OF_ONE_REQUEST,
  "shard/key-shard.ts": ATTEMPTED,
  "shard/monitor.ts": LIMIT,
  "shard/new-keys.ts": RUNNING,
  "shard/open-offsets.ts": OF_ROWS,
  "shard/outbox.ts": RUNNING,
  "shard/partition-positions.ts": "ends with its turn",
  "shard/questions.ts": RUNNING,
  "shard/reachability.ts": ATTEMPTED,
  "shard/store/alerts.ts": OF_ROWS,
  "shard/store/aliases.ts": OF_ROWS,
  "shard/store/audit.ts": OF_ROWS,
  "shard/store/bodies.ts": OF_ROWS,
  "shard/store/counts.ts": OF_ROWS,
  "shard/store/due-records.ts": OF_ROWS,
  "shard/store/excerpts.ts": OF_ROWS,
  "shard/store/expired-records.ts": CACHE,
  "shard/store/expiry-buckets.ts": OF_ROWS,
  "shard/store/key-lister.ts": OF_ROWS,
  "shard/store/ledger.ts": OF_ROWS,
  "shard/store/outbox.ts": OF_ROWS,
  "shard/store/positions.ts": OF_ROWS,
  "shard/store/record-list.ts": CACHE,
  "shard/store/record-numbers.ts": OF_ROWS,
  "shard/store/remote-bodies.ts": ATTEMPTED,
  "shard/store/rests.ts": OF_ROWS,
  "shard/store/seal.ts": OF_ROWS,
  "shard/timers.ts": RUNNING,
  "shard/totals.ts": OF_ROWS,
  "shard/waiters.ts": RUNNING,
  "traffic/histogram.ts": "a part of kept-counts.ts, or of an isolate's batch",
  "traffic/replay-counts.ts": "a part of kept-counts.ts, or of an isolate's batch",
  "traffic/route-counters.ts": "a part of kept-counts.ts, or of an isolate's batch",
  "traffic/tally.ts": "a part of kept-counts.ts, or of an isolate's batch",
  "traffic/traffic-flusher.ts":
    "handed over within ten seconds; src/traffic/README.md says what the end of an isolate can take",
  "traffic/traffic.ts":
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
