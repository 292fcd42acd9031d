// A wall clock that the rig sets, for one isolate of the process. (libfaketime cannot do it: workerd's allocator reads the clock
// at its first allocation, which libfaketime makes in its own initialisation, and the process stands still.) Timers go on as
// they are, as they do on a machine whose clock is set. The runtime's alarms get the machine's time.

const machine = Date.now;
let aheadMs = 0;
Date.now = () => machine() + aheadMs;

/** Below 0: behind the machine's. */
export function setClock(ms: number): void {
  aheadMs = ms;
}

export function ofMachine(time: number | Date): number {
  return Number(time) - aheadMs;
}

export function fromMachine(time: number): number {
  return time + aheadMs;
}
