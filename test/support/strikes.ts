// Named points at which a process of a test stops, so that the test can kill the gateway there: the process says that it is at
// the point, and goes on when it is told to. A point that is not armed costs nothing.

import * as v from "valibot";

const orders = v.variant("order", [
  v.object({ order: v.literal("arm"), point: v.string(), passes: v.number() }),
  v.object({ order: v.literal("go") }),
]);

export interface Strikes {
  /** Resolves at once, unless the point is armed and has been passed often enough. */
  at(point: string): Promise<void>;
}

/** For the child process. */
export function strikesOfParent(): Strikes {
  let armed: { point: string; passes: number } | null = null;
  let go: (() => void) | null = null;
  process.on("message", (message) => {
    const order = v.safeParse(orders, message);
    if (!order.success) return;
    if (order.output.order === "arm") armed = order.output;
    else go?.();
  });
  return {
    async at(point) {
      if (armed?.point !== point) return;
      armed.passes -= 1;
      if (armed.passes > 0) return;
      armed = null;
      await new Promise<void>((resolve) => {
        go = resolve;
        process.send?.({ struck: point });
      });
    },
  };
}
