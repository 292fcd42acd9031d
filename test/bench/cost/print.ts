// Prints what the gateway costs on Cloudflare, in Markdown, from the counted operations. `npm run bench -- cost`

import { PRICES } from "./prices.ts";
import { assumptionsText, costTable, shardsTable, storageTable } from "./tables.ts";

console.log("| what | dollars | per |\n| --- | --- | --- |");
for (const { what, dollars, unit } of Object.values(PRICES)) {
  console.log(`| ${what} | ${dollars} | ${unit === 1 ? "" : "million"} |`);
}
console.log(`\n${assumptionsText()}\n`);
console.log(costTable());
console.log(`\n${shardsTable()}`);
console.log(`\n${storageTable()}`);
