// The test origin as a process of its own: `node test/support/origin-process.ts` prints its two URLs as a JSON line.
// Started by `startOrigin`, it tells them over IPC and ends with its parent, however that ends.

import { createScripts } from "./origin-behaviour.ts";
import { startControl } from "./origin-control.ts";
import { createHolds } from "./origin-holds.ts";
import { createJournal } from "./origin-journal.ts";
import { startOriginServer } from "./origin-server.ts";

const parts = { journal: createJournal(), scripts: createScripts(), holds: createHolds() };
const origin = await startOriginServer(parts);
const controlUrl = await startControl(parts, origin);
const started = { url: origin.url, controlUrl };

if (process.send === undefined) {
  process.stdout.write(`${JSON.stringify(started)}\n`);
} else {
  process.on("disconnect", () => process.exit(0));
  process.send(started);
}
