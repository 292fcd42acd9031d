// An API of payments with a ledger on its disk, in a process of its own that is killed during an outage. In the outage it hangs: every second call
// after its payment is in the ledger, the others before. It tells its parent where it listens, and each call that hangs.

import { appendFileSync } from "node:fs";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import * as v from "valibot";

const [ledger = "", port = "0", state = "up"] = process.argv.slice(2);

const server = createServer((request, response) => {
  void json(request).then((body) => {
    const { number } = v.parse(v.object({ number: v.number() }), body);
    const key = String(request.headers["idempotency-key"]).replaceAll('"', "");
    const paid = { payment: `pay_${number}`, at: Date.now() };
    const isPaid = state === "up" || number % 2 === 0;
    if (isPaid) appendFileSync(ledger, `${JSON.stringify({ key, response: paid })}\n`);
    if (state !== "up") return process.send?.({ hangs: key });
    response.writeHead(201, { "content-type": "application/json" });
    return response.end(JSON.stringify(paid));
  });
});
server.listen(Number(port), "127.0.0.1", () => {
  process.send?.(v.parse(v.object({ port: v.number() }), server.address()));
});
