// Runs cases on several ways and reports the differences. A difference that does not occur again is one of timing (the runtime
// reused a connection that was about to end), and is ignored.

import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { isLong } from "../long.ts";
import { type Allowance, type Difference, differencesOf, judge } from "./wire-differences.ts";
import { CASE_HEADER } from "./wire-origin.ts";
import type { Seen, WireCase } from "./wire-ways.ts";

const AT_ONCE = 16;
const TRIES = 3;

export interface Compared {
  readonly of: WireCase;
  readonly one: Seen;
  readonly other: Seen;
  readonly differences: readonly Difference[];
}

type Pair = readonly [one: Seen, other: Seen];

/** Repeats cases with differences that are not allowed, up to three times; the last time counts. */
export async function compareAll(
  cases: readonly WireCase[],
  allowances: readonly Allowance[],
  pairOf: (of: WireCase) => Promise<Pair>,
): Promise<readonly Compared[]> {
  const compared: Compared[] = [];
  const compare = async (of: WireCase, tries: number): Promise<Compared> => {
    const [one, other] = await pairOf(of);
    const result = { of, one, other, differences: differencesOf(one, other) };
    if (tries === 1 || judge([result], allowances).defects.length === 0) return result;
    return compare(renewed(of), tries - 1);
  };
  for (let at = 0; at < cases.length; at += AT_ONCE) {
    const some = cases.slice(at, at + AT_ONCE);
    compared.push(...(await Promise.all(some.map((of) => compare(of, TRIES)))));
  }
  return compared;
}

/** With a name and a key of its own. */
function renewed(of: WireCase): WireCase {
  const id = randomUUID();
  const fresh = new Map([
    [CASE_HEADER, id],
    ["Idempotency-Key", id],
  ]);
  return { ...of, id, headers: of.headers.map(([name, value]) => [name, fresh.get(name) ?? value]) };
}

/** Expects exactly the allowed differences, and each of them. */
export function expectNoneButAllowed(compared: readonly Compared[], allowances: readonly Allowance[]): void {
  const { defects, dead } = judge(compared, allowances);
  const shown = defects
    .slice(0, 5)
    .map(({ of, difference }) => ({ difference, of: { ...of, headers: of.headers.map(String) } }));
  expect({ defects: defects.length, shown }).toEqual({ defects: 0, shown: [] });
  // The short run does not meet every difference.
  if (isLong) expect(dead).toEqual([]);
}
