// `npm run serve`, in a checkout: `onceway serve` from the sources.

import { runServe } from "./serve.ts";

process.exitCode = await runServe(process.argv.slice(2));
