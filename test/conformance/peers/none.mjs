// For comparison: the application without any protection.

import { forward, serve } from "./forward.mjs";

serve(forward);
