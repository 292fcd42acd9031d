#!/usr/bin/env node
// `npx onceway`: the gateway's command line as a process. The package has it as JavaScript, for the Node that package.json asks for.

import { onceway } from "./program.ts";
import { main } from "./run.ts";

const args = process.argv.slice(2);
await main(await onceway(args), args);
