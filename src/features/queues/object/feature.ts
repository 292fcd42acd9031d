import type { ObjectFeature, ObjectKernel } from "../../../kernel/object-feature.ts";
import { deliveryCalls } from "./deliveries.ts";

export function queuesObject(kernel: ObjectKernel): ObjectFeature {
  return { name: "queues", calls: deliveryCalls(kernel) };
}
