// The smallest Worker that is a gateway, in plain JavaScript.

import { createOnceway } from "../../src/library.ts";

export { KeyShard } from "../../src/library.ts";

export default createOnceway();
