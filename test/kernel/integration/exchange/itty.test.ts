// A question to an object travels in a header, whatever text is in it.

import { expect, it } from "vitest";
import { jsonCall } from "../../../../src/kernel/call.ts";
import { callsOf } from "../../../../src/kernel/object/itty.ts";

it.each(["plain", "caf\u00e9 \u007f", "\u20ac \u{1f388} \ud800 \\u0041 \uffff"])(
  "%j arrives as it is",
  async (text) => {
    const asked: string[] = [];
    const stub = {
      fetch: (request: Request) => {
        asked.push(request.headers.get("do-content") ?? "");
        return Promise.resolve(Response.json({ text }));
      },
    };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of an object only this is called
    const calls = callsOf({ find: jsonCall<string, object>("find") }, stub as unknown as DurableObjectStub);
    expect(await calls.find(text)).toEqual({ text });
    const [content = ""] = asked;
    expect(content).toMatch(/^[ -~]*$/);
    const [name, question]: readonly string[] = JSON.parse(content);
    expect([name, JSON.parse(question ?? "")]).toEqual(["find", text]);
  },
);
