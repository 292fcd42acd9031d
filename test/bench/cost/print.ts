// Prints what the gateway costs on Cloudflare, in Markdown, from the counted operations. `npm run bench -- cost`

import { PRICES } from "./prices.ts";
import { assumptionsText, costTable, shardsTable } from "./tables.ts";

console.log("Prices, per million unless said otherwise:\n");
console.log("| what | dollars |\n| --- | --- |");
for (const { what, dollars } of Object.values(PRICES)) console.log(`| ${what} | ${dollars} |`);
console.log(`\n${assumptionsText()}\n`);
console.log(costTable());
console.log(`\n${shardsTable()}`);
