// A wall clock that the rig sets, for one isolate of the process. (libfaketime cannot do it: workerd's allocator reads the clock
// at its first allocation, which libfaketime makes in its own initialisation, and the process stands still.) Timers go on as
// they are, as they do on a machine whose clock is set. The runtime's alarms get the machine's time.

import { CLOCK_PATH } from "../points.ts";

const machine = Date.now;
let aheadMs = 0;
Date.now = () => machine() + aheadMs;

/** Sets the clock if the request asks for it: `?ahead=MS`, below 0 for behind. */
export function setClock(request: Request): Response | null {
  const { pathname, searchParams } = new URL(request.url);
  if (pathname !== CLOCK_PATH) return null;
  aheadMs = Number(searchParams.get("ahead"));
  return new Response(null, { status: 204 });
}

export function ofMachine(time: number | Date): number {
  return Number(time) - aheadMs;
}

export function fromMachine(time: number): number {
  return time + aheadMs;
}
