// The demo's API as a process of its own, so that it can be killed in the middle of a call: `node origin-process.ts PORT DATABASE`,
// started by origin-keeper.ts. It ends with the process that started it.

import { startDemoOrigin } from "./origin.ts";

/** The key whose next effect is printed, and then never answered: whoever waits for it kills this process. */
let awaited: string | null = null;

process.on("message", (message: unknown) => {
  if (typeof message !== "string") return;
  awaited = message;
  process.send?.({ kind: "waiting" });
});
process.on("disconnect", () => process.exit(0));
// Ctrl-C goes to the whole group of a terminal; the parent ends this process when the gateway has ended.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => {});

const [port = "", database = ""] = process.argv.slice(2);
try {
  await startDemoOrigin({
    port: Number(port),
    database,
    onEffect: (key) => {
      if (key !== awaited) return Promise.resolve();
      process.send?.({ kind: "acted" });
      return new Promise(() => {});
    },
  });
  process.send?.({ kind: "ready" });
} catch (error) {
  process.send?.({ kind: "failed", reason: String(error) });
  process.disconnect();
}
