import { expect, it } from "vitest";
import { canonicalMultipart } from "../../../../src/features/forms/multipart.ts";
import { comparedHeaders, comparisonOf } from "../../../../src/kernel/request/comparison.ts";
import { fingerprintRequest } from "../../../../src/kernel/request/fingerprint.ts";

/** The fingerprint of a request, as the Worker makes it. */
function print(body: string, type: string, canonical?: typeof canonicalMultipart): Promise<string> {
  const headers = new Headers({ "content-type": type });
  const rule = {
    body: "multipart",
    selection: null,
    query: "exact",
    queryExcept: [],
    headers: ["content-type"],
  } as const;
  const comparison = comparisonOf(rule, headers);
  const compared = comparedHeaders(rule.headers, headers, comparison);
  const parts = { method: "POST", path: "/p", query: "", headers: compared };
  return fingerprintRequest(parts, new TextEncoder().encode(body), comparison, null, canonical);
}

const bodyWith = (boundary: string): string =>
  `--${boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--${boundary}--\r\n`;

it("the fingerprint of a multipart body does not depend on its boundary, even where content-type counts", async () => {
  const of = (boundary: string, more = ""): Promise<string> =>
    print(bodyWith(boundary), `multipart/form-data; boundary=${boundary}${more}`, canonicalMultipart);
  expect(await of("one")).toBe(await of("other"));
  expect(await of("one")).not.toBe(await of("one", "; charset=utf-8"));
  // Without a boundary of its own, the body is the same bytes only.
  const wrong = (boundary: string): Promise<string> =>
    print(bodyWith("one"), `multipart/form-data; boundary=${boundary}`, canonicalMultipart);
  expect(await wrong("two")).not.toBe(await wrong("three"));
});

it("without the canonical form, multipart bodies are the same bytes only", async () => {
  const of = (boundary: string): Promise<string> =>
    print(bodyWith(boundary), `multipart/form-data; boundary=${boundary}`);
  expect(await of("one")).toBe(await of("one"));
  expect(await of("one")).not.toBe(await of("other"));
});
