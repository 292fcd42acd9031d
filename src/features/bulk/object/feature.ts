import { responded } from "../../../kernel/call.ts";
import type { ObjectFeature, ObjectKernel } from "../../../kernel/object-feature.ts";
import { CHANGE_LISTED_CALL, changeListed } from "./listed-changes.ts";

export function bulkObject(kernel: ObjectKernel): ObjectFeature {
  return { name: "bulk", calls: [responded(CHANGE_LISTED_CALL, (request) => changeListed(request, kernel))] };
}
