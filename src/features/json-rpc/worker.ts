// JSON-RPC in the Worker: which call a request is, and a replay under the id of the call that gets it.

export { editReplay } from "./edit-replay.ts";
export { searchCall as callSearch } from "./search-call.ts";
