import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { withVisibleOrder } from "../../../src/operator/console/visible-order.ts";

const CONTROLS = Array.from("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069");

describe("a page of the console", () => {
  it.each(CONTROLS)("shows a character that changes the order of others as its code point: %j", (control) => {
    const shown = withVisibleOrder(`<dd class="mono">pay_1${control}001</dd>`);
    expect(shown).toMatch(/^<dd class="mono">pay_1\[U\+[0-9A-F]{4}\]001<\/dd>$/);
  });

  it("leaves what a form sends as it is", () => {
    const form = `<textarea name="body">a\u202eb</textarea><input name="reason" value="a\u202eb" />`;
    expect(withVisibleOrder(form)).toBe(form);
    expect(withVisibleOrder(`${form}<p>c\u202ed</p>`)).toBe(`${form}<p>c[U+202E]d</p>`);
  });

  it("leaves no such character in its text, and no other page changed", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "é", "\u05d0", "\u200d", "🙂", "&lt;", ...CONTROLS) });
    fc.assert(
      fc.property(text, text, (one, other) => {
        const shown = withVisibleOrder(`<title>${one}</title><b>${other}</b>`);
        for (const control of CONTROLS) expect(shown).not.toContain(control);
        const isPlain = !CONTROLS.some((control) => (one + other).includes(control));
        if (isPlain) expect(shown).toBe(`<title>${one}</title><b>${other}</b>`);
      }),
    );
  });
});
