// V8's sampling profile of an isolate, over workerd's inspector (Chrome DevTools Protocol, domain Profiler).

import { once } from "node:events";
import * as v from "valibot";

const targets = v.array(v.object({ webSocketDebuggerUrl: v.string() }));

const profile = v.object({
  nodes: v.array(
    v.object({
      id: v.number(),
      callFrame: v.object({ functionName: v.string(), url: v.string(), lineNumber: v.number() }),
      children: v.optional(v.array(v.number())),
    }),
  ),
  samples: v.array(v.number()),
  timeDeltas: v.array(v.number()),
});
export type Profile = v.InferOutput<typeof profile>;

/** workerd leaves `result` out where there is nothing to tell. */
const reply = v.object({ id: v.number(), result: v.optional(v.unknown()), error: v.optional(v.unknown()) });

const SAMPLE_MICROSECONDS = 100;

export async function profileWhile<T>(
  inspectorPort: number,
  run: () => Promise<T>,
): Promise<{ readonly result: T; readonly profile: Profile }> {
  const listed: unknown = await (await fetch(`http://127.0.0.1:${inspectorPort}/json`)).json();
  const [target] = v.parse(targets, listed);
  if (target === undefined) throw new Error("the inspector knows no isolate");
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await once(socket, "open");
  await call(socket, 1, "Profiler.enable");
  await call(socket, 2, "Profiler.setSamplingInterval", { interval: SAMPLE_MICROSECONDS });
  await call(socket, 3, "Profiler.start");
  const result = await run();
  const stopped = await call(socket, 4, "Profiler.stop");
  socket.close();
  return { result, profile: v.parse(v.object({ profile }), stopped).profile };
}

function call(socket: WebSocket, id: number, method: string, params: object = {}): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const hear = ({ data }: MessageEvent): void => {
      const message: unknown = JSON.parse(String(data));
      const parsed = v.safeParse(reply, message);
      if (!parsed.success || parsed.output.id !== id) return;
      socket.removeEventListener("message", hear);
      const { result, error } = parsed.output;
      if (error === undefined) resolve(result);
      else reject(new Error(`${method}: ${JSON.stringify(error)}`));
    };
    socket.addEventListener("message", hear);
    socket.addEventListener("close", () => reject(new Error("the isolate is gone")));
    socket.send(JSON.stringify({ id, method, params }));
  });
}

type Ranking = readonly (readonly [name: string, microseconds: number])[];

/** The functions by the time in them, and by the time in them and in what they call. */
export function rankings({ nodes, samples, timeDeltas }: Profile): {
  readonly bySelf: Ranking;
  readonly byTotal: Ranking;
} {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const parents = new Map(nodes.flatMap(({ id, children }) => (children ?? []).map((child) => [child, id] as const)));
  const self = new Map<string, number>();
  const total = new Map<string, number>();
  samples.forEach((node, at) => {
    const us = timeDeltas[at] ?? 0;
    add(self, names.get(node) ?? "", us);
    // A function that calls itself counts once.
    const stack = new Set<string>();
    for (let up: number | undefined = node; up !== undefined; up = parents.get(up)) stack.add(names.get(up) ?? "");
    for (const name of stack) add(total, name, us);
  });
  return { bySelf: ranked(self), byTotal: ranked(total) };
}

function nameOf({ functionName, url, lineNumber }: Profile["nodes"][number]["callFrame"]): string {
  const name = functionName === "" ? "(anonymous)" : functionName;
  return url === "" ? name : `${name} ${url.split("/").at(-1)}:${lineNumber + 1}`;
}

function add(sums: Map<string, number>, name: string, more: number): void {
  sums.set(name, (sums.get(name) ?? 0) + more);
}

function ranked(sums: ReadonlyMap<string, number>): Ranking {
  return [...sums].toSorted((a, b) => b[1] - a[1]);
}
