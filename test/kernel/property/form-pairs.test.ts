// Forms and queries as pairs: the order of different fields and the spelling of escapes never matter, and all else does. Node's
// URLSearchParams is the other reader.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FingerprintRule, BodySelection } from "../../../src/kernel/config/resolved.ts";
import { comparedQuery } from "../../../src/kernel/request/compared-query.ts";
import { canonicalForm, fieldOf } from "../../../src/kernel/request/form-pairs.ts";
import { counted, finish } from "../../support/slices.ts";

const name = fc.constantFrom("a", "b", "c", "a[]", "A", "a.b", "a_b", "a b", "é", "", "[x]", "a[x][y]");
const text = fc.string({
  unit: fc.constantFrom("a", "Z", "0", " ", "+", "&", "=", "%", ";", "é", "🙂", "\n", "-"),
  maxLength: 4,
});
const pairs = fc.array(fc.tuple(name, text), { maxLength: 6 });
type Pairs = readonly (readonly [string, string])[];

/** One of the spellings of a form: each character that is not reserved may be escaped, in either case, and a space in two ways. */
function spelled(list: Pairs, choices: readonly number[]): string {
  let at = 0;
  const choice = (of: number): number => (choices[at++ % choices.length] ?? 0) % of;
  const part = (one: string): string =>
    Array.from(one)
      .map((character) => {
        if (character === " ") return choice(2) === 0 ? "+" : "%20";
        if (/[\w.-]/.test(character) && choice(3) > 0) return character;
        const escaped = [...new TextEncoder().encode(character)]
          .map((byte) => `%${byte.toString(16).padStart(2, "0")}`)
          .join("");
        return choice(2) === 0 ? escaped : escaped.toUpperCase();
      })
      .join("");
  return list.map(([one, other]) => `${part(one)}=${part(other)}`).join("&");
}

const form = (body: string, selection: BodySelection | null = null): string | null => {
  const canonical = finish(canonicalForm(new TextEncoder().encode(body), selection));
  return canonical === null ? null : `${canonical.isSelected} ${Buffer.from(canonical.bytes).toString("latin1")}`;
};

/** The pairs of each field in their order: what a form means. */
const meaning = (list: Pairs): string => {
  const fields = new Map<string, Pairs>();
  for (const pair of list) fields.set(fieldOf(pair[0]), [...(fields.get(fieldOf(pair[0])) ?? []), pair]);
  return JSON.stringify([...fields].toSorted(([one], [other]) => (one < other ? -1 : 1)));
};

/** The same pairs in an order in which each field keeps its own. */
function shuffled(list: Pairs, ranks: readonly number[]): Pairs {
  const fields = [...new Set(list.map(([one]) => fieldOf(one)))];
  const rank = (one: string): number =>
    (ranks[fields.indexOf(fieldOf(one)) % ranks.length] ?? 0) * 100 + fields.indexOf(fieldOf(one));
  return list.toSorted(([one], [other]) => rank(one) - rank(other));
}

const choices = fc.array(fc.nat(99), { minLength: 1, maxLength: 20 });

describe("a form", () => {
  it("is the same in every spelling and in every order of its fields", () => {
    fc.assert(
      fc.property(pairs, choices, choices, (list, one, other) => {
        const expected = form(spelled(list, one));
        expect(expected).not.toBeNull();
        expect(form(spelled(shuffled(list, other), other))).toBe(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  it("is another one if any pair is, or the order within a field", () => {
    fc.assert(
      fc.property(pairs, pairs, choices, (one, other, how) => {
        expect(form(spelled(one, how)) === form(spelled(other, how))).toBe(meaning(one) === meaning(other));
      }),
      { numRuns: 2_000 },
    );
    expect(form("a=1&a=2")).not.toBe(form("a=2&a=1"));
    // Servers build these from the order of names that are not the same.
    expect(form("i[][n]=1&i[][q]=2&i[][n]=3")).not.toBe(form("i[][n]=1&i[][n]=3&i[][q]=2"));
    expect(form("a.b=1&a_b=2")).not.toBe(form("a_b=2&a.b=1"));
  });

  it("that is the same as another is the same for URLSearchParams too", () => {
    const odd = fc.string({
      unit: fc.constantFrom("a", "b", "A", "=", "&", "%", "+", "4", "1", ";", "[", "]", " ", "é", "%61"),
      maxLength: 10,
    });
    const read = (body: string): string => meaning([...new URLSearchParams(body)]);
    fc.assert(
      fc.property(odd, odd, (one, other) => {
        if (form(one) !== null && form(one) === form(other)) expect(read(one)).toBe(read(other));
      }),
      { numRuns: 20_000 },
    );
  });

  it.each(["a;b=1", "a=%", "a=%4", "a=%zz", "a=é", "a=b=c", "a= b", "a=1\r\n", "a=\0", "a=\u007f"])(
    "that parsers read differently has no canonical form: %j",
    (body) => {
      expect(form(body)).toBeNull();
    },
  );

  it("distinguishes what some parsers do: no value and an empty one, no pair and an empty one", () => {
    const all = ["", "&", "a", "a=", "a&", "a=&", "=", "=a"];
    expect(new Set(all.map((body) => form(body))).size).toBe(all.length);
    // A value that looks like the frame of another pair.
    expect(form("a=x%00%00%00%01%FF%FF%FF%FFby")).not.toBe(form("a=x&b=y"));
  });

  it("has no canonical form if it has more pairs than servers read, longer names, or more bytes than a mebibyte", () => {
    expect(form("a=1&".repeat(1_999))).not.toBeNull();
    expect(form("a=1&".repeat(2_000))).toBeNull();
    expect(form(`${"n".repeat(1_000)}=1`)).not.toBeNull();
    expect(form(`${"n".repeat(1_001)}=1`)).toBeNull();
    expect(form("a".repeat(1 << 20))).toBeNull();
    expect(form(`a=${"b".repeat((1 << 20) - 2)}`)).not.toBeNull();
    expect(form(`a=${"b".repeat((1 << 20) - 1)}`)).toBeNull();
  });

  it("is read in slices", () => {
    const body = new TextEncoder().encode(`a=${"%41".repeat(300_000)}`);
    expect(counted(canonicalForm(body, null)).pauses).toBeGreaterThan(25);
  });
});

describe("a selection of a form", () => {
  const except = (...names: string[]): BodySelection => ({ kind: "except", pointers: names.map((one) => `/${one}`) });
  const only = (...names: string[]): BodySelection => ({ kind: "only", pointers: names.map((one) => `/${one}`) });

  it("except ignores these fields, and no other that looks like them", () => {
    expect(form("t=1&a=2", except("t"))).toBe(form("a=2&t=%31&t", except("t")));
    expect(form("t=1&a=2", except("t"))).not.toBe(form("a=3&t=1", except("t")));
    expect(form("T=1", except("t"))).not.toBe(form("T=2", except("t")));
    expect(form("t[x]=1", except("t"))).not.toBe(form("t[x]=2", except("t")));
    expect(form("a~1=1&x=1", except("a~01"))).toBe(form("x=1", except("a~01")));
    expect(form("%C3%A9=1&x=1", except("é"))).toBe(form("x=1", except("é")));
  });

  it("only takes these fields, and what parsers might read as one of them", () => {
    expect(form("amount=1&t=2", only("amount"))).toBe(form("t=3&amount=1&u=4", only("amount")));
    expect(form("amount=1&t=2", only("amount"))).not.toBe(form("amount=1&Amount=2&t=2", only("amount")));
    expect(form("amount=1", only("amount"))).not.toBe(form("amount=1&amount[]=2", only("amount")));
    expect(form("a=1", only("a", "b"))).not.toBe(form("b=1", only("a", "b")));
  });

  it("only takes all of a form that has none of them", () => {
    expect(form("t=1", only("amount"))).not.toBe(form("t=2", only("amount")));
    expect(form("t=1", only("amount"))).toBe(`false ${form("t=1")?.slice("false ".length)}`);
  });
});

describe("a query", () => {
  const rule = (query: FingerprintRule["query"], ...queryExcept: string[]): FingerprintRule => ({
    body: "bytes",
    selection: null,
    headers: [],
    query,
    queryExcept,
  });
  const SORTED = rule("sorted");
  const searchOf = (list: Pairs): string => (list.length === 0 ? "" : `?${spelled(list, [1])}`);

  it("exact is as it is in the URL", () => {
    fc.assert(
      fc.property(fc.webQueryParameters(), (query) => {
        expect(comparedQuery(`?${query}`, rule("exact"))).toBe(`?${query}`);
      }),
    );
  });

  it("none is always the same, and differs from any that is compared", () => {
    expect(comparedQuery("?a", rule("none"))).toBe(comparedQuery("", rule("none")));
    for (const other of [rule("exact"), SORTED])
      expect(comparedQuery("", other)).not.toBe(comparedQuery("", rule("none")));
  });

  it("sorted is the same in every order of its fields, and another one if any pair is as written", () => {
    fc.assert(
      fc.property(pairs, pairs, choices, (one, other, how) => {
        expect(comparedQuery(searchOf(shuffled(one, how)), SORTED)).toBe(comparedQuery(searchOf(one), SORTED));
        const isSame = meaning(one) === meaning(other) && (one.length === 0) === (other.length === 0);
        expect(comparedQuery(searchOf(one), SORTED) === comparedQuery(searchOf(other), SORTED)).toBe(isSame);
      }),
      { numRuns: 2_000 },
    );
    expect(comparedQuery("?a=%20", SORTED)).not.toBe(comparedQuery("?a=+", SORTED));
  });

  it("leaves out the parameters of these names, however their names are escaped", () => {
    const exact = rule("exact", "n", "t");
    expect(comparedQuery("?a=1&t=2&b=3", exact)).toBe(comparedQuery("?a=1&%74=4&b=3&n&t=", exact));
    expect(comparedQuery("?t=2", exact)).toBe(comparedQuery("", exact));
    expect(comparedQuery("?a=1&b=3", exact)).not.toBe(comparedQuery("?b=3&a=1", exact));
    expect(comparedQuery("?a=1&t=2&b=3", rule("sorted", "t"))).toBe(comparedQuery("?b=3&a=1", rule("sorted", "t")));
    expect(comparedQuery("?T=1", exact)).not.toBe(comparedQuery("?T=2", exact));
    expect(comparedQuery("?t[a]=1", exact)).not.toBe(comparedQuery("?t[a]=2", exact));
  });

  it.each([
    ["with semicolons", "?t=1;a=2"],
    ["with a broken escape", "?t=1&%zz=1"],
    ["with a name that is not UTF-8", "?t=1&%ff=1"],
    ["of more than 1,000 pairs", `?${"t=1&".repeat(1_000)}`],
  ])("%s is compared as it is, because parsers differ", (_, search) => {
    expect(comparedQuery(search, rule("sorted", "t"))).toBe(search);
  });

  it("is compared differently under any other rule", () => {
    const rules = [
      rule("exact"),
      rule("exact", "t"),
      rule("exact", "n", "t"),
      SORTED,
      rule("sorted", "t"),
      rule("none"),
    ];
    expect(new Set(rules.map((one) => comparedQuery("?a=1", one))).size).toBe(rules.length);
  });
});
