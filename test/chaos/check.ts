// `node test/chaos/check.ts FILE`: judges the history of a run that was kept. Ends with status 1 when it breaks a guarantee.

import { checkHistory } from "./checker/check-history.ts";
import { readHistory } from "./history.ts";
import { summarize } from "./summary.ts";

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error("which history? node test/chaos/check.ts FILE");
const history = await readHistory(file);
const violations = checkHistory(history);
console.log(summarize(history, violations));
process.exitCode = violations.length > 0 ? 1 : 0;
