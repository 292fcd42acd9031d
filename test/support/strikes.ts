// Named points at which a process of a test stops, so that the test can kill the gateway there: the process says that it is at
// the point, and goes on when it is told to. A point that is not armed costs nothing.

import * as v from "valibot";

const orders = v.variant("order", [
  v.object({ order: v.literal("arm"), point: v.string(), passes: v.number() }),
  v.object({ order: v.literal("go"), point: v.string() }),
]);

export interface Strikes {
  /** Resolves at once, unless the point is armed and has been passed often enough. */
  at(point: string): Promise<void>;
}

/** For the child process. */
export function strikesOfParent(): Strikes {
  const armed = new Map<string, number>();
  const waiting = new Map<string, () => void>();
  process.on("message", (message) => {
    const order = v.safeParse(orders, message);
    if (!order.success) return;
    const { point } = order.output;
    if (order.output.order === "arm") armed.set(point, order.output.passes);
    else waiting.get(point)?.();
  });
  return {
    async at(point) {
      const passes = armed.get(point);
      if (passes === undefined) return;
      armed.set(point, passes - 1);
      if (passes > 1) return;
      armed.delete(point);
      await new Promise<void>((resolve) => {
        waiting.set(point, resolve);
        process.send?.({ struck: point });
      });
    },
  };
}
