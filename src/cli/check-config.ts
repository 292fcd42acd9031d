// `npm run check-config [FILE] [--env NAME]`: the check alone, under the name that deployments call it by.

import { defineCheck } from "./check.ts";
import { main, newCommand } from "./run.ts";

await main(defineCheck(newCommand("check-config")));
