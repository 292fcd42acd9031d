// `onceway`: the gateway for a Worker that has other work to do (README.md, "In a Worker of your own").

export { createOnceway } from "./worker/create-onceway.ts";
export type { Onceway, OncewayOptions } from "./worker/create-onceway.ts";
export { KeyShard } from "./worker/key-shard.ts";
