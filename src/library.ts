// `onceway`: the gateway for a Worker that has other work to do (README.md, "In a Worker of your own").

export { createOnceway } from "./onceway.ts";
export type { Onceway, PassOn } from "./onceway.ts";
export { KeyShard } from "./shard/key-shard.ts";
