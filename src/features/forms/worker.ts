// Forms in the Worker: the canonical form of a multipart body that is in memory.

export { canonicalMultipart } from "./multipart.ts";
