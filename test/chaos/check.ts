// `npx node test/chaos/check.ts FILE`: checks the saved history of a run. Exits with status 1 when a guarantee is broken.

import { checkHistory } from "../guarantees/check-history.ts";
import { readHistory } from "../guarantees/history.ts";
import { summarize } from "../guarantees/summary.ts";

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error("Missing FILE. Usage: npx node test/chaos/check.ts FILE");
const history = await readHistory(file);
const violations = checkHistory(history);
console.log(summarize(history, violations));
process.exitCode = violations.length > 0 ? 1 : 0;
