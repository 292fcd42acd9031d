// The call by which an operator closes an object.

import type { Layout } from "../../kernel/config/layout.ts";
import { jsonCall } from "../../kernel/call.ts";

/** Closes the object for another layout, unless it is closed already. Answered with the layout for which it is closed, when that is durable. */
export const CLOSE_CALL = jsonCall<Layout, Layout>("close");
