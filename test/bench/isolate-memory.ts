// The memory of the isolate itself, as V8 counts it, which the platform limits to 128 MB; the process takes more. Read over
// workerd's inspector during a run.

import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import * as v from "valibot";

const SAMPLE_MS = 20;

const targets = v.array(v.object({ webSocketDebuggerUrl: v.string() }));

/** Chrome DevTools Protocol, `Runtime.getHeapUsage`, in bytes. */
const answer = v.object({
  id: v.number(),
  result: v.object({ usedSize: v.number(), backingStorageSize: v.number(), embedderHeapUsedSize: v.number() }),
});

/** The sampled peak memory of a process's first isolate during `run`, in MiB. */
export async function watchIsolate(inspectorPort: number, run: () => Promise<void>): Promise<number> {
  const listed: unknown = await (await fetch(`http://127.0.0.1:${inspectorPort}/json`)).json();
  const [target] = v.parse(targets, listed);
  if (target === undefined) throw new Error("the inspector knows no isolate");
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await once(socket, "open");
  const gone: Promise<never> = new Promise((_resolve, reject) => {
    socket.addEventListener("close", () => reject(new Error("the isolate is gone")));
  });
  gone.catch(() => undefined);
  let peakBytes = 0;
  const done = new AbortController();
  const sampling = (async () => {
    for (let id = 1; !done.signal.aborted; id += 1) {
      peakBytes = Math.max(peakBytes, await Promise.race([askUsage(socket, id), gone]));
      await pause(SAMPLE_MS);
    }
  })();
  // Its failure is reported after the run.
  sampling.catch(() => undefined);
  try {
    await run();
  } finally {
    done.abort();
  }
  await sampling;
  socket.close();
  return peakBytes / 2 ** 20;
}

function askUsage(socket: WebSocket, id: number): Promise<number> {
  return new Promise((resolve) => {
    const hear = ({ data }: MessageEvent): void => {
      const message: unknown = JSON.parse(String(data));
      const parsed = v.safeParse(answer, message);
      if (!parsed.success || parsed.output.id !== id) return;
      socket.removeEventListener("message", hear);
      const { usedSize, backingStorageSize, embedderHeapUsedSize } = parsed.output.result;
      resolve(usedSize + backingStorageSize + embedderHeapUsedSize);
    };
    socket.addEventListener("message", hear);
    socket.send(JSON.stringify({ id, method: "Runtime.getHeapUsage" }));
  });
}
