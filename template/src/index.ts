export { default, KeyShard, Operators } from "onceway/worker";
