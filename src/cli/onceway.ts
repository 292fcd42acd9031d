#!/usr/bin/env node
// `npx onceway`: the gateway's command line. Says which commands there are; each stands in a file of its own.
// Runs from the checkout with the Node that `npm ci` installs: npx puts it first on the path.

import { defineCheck } from "./check.ts";
import { defineInit } from "./init.ts";
import { newCommand, run } from "./run.ts";
import { defineTry } from "./try.ts";

const program = newCommand("onceway").description("Makes, checks and operates an idempotency gateway.");
defineInit(program.command("init"));
defineCheck(program.command("check"));
defineTry(program.command("try"));

await run(program, process.argv.slice(2));
