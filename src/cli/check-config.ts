// `npm run check-config [FILE] [--env NAME]`: the check alone, under the name that deployments call it by.

import { defineCheck } from "./check.ts";
import { newCommand, run } from "./run.ts";

await run(defineCheck(newCommand("check-config")), process.argv.slice(2));
