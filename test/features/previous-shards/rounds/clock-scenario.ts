// The clock goes back around a record's expiry in the middle of a change of the layout. The closed object has said that it has no
// current record of the key, and the next one has begun: from then on nobody may get the first answer again, although by the
// closed object's clock it would be valid once more.

import { freshKey, rawRequest, type RawResponse, endpoint } from "../../../support/http.ts";
import { startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { ADMIN_TOKEN } from "../../../chaos/operators.ts";
import { closeLayout, type LayoutScene, startLayoutScene } from "./scene.ts";

const LAYOUTS = { old: { shards: 4 }, new: { shards: 8, previous_shards: [4] } };
type Name = keyof typeof LAYOUTS;
const NAMES = ["old", "new"] as const;
export const RETENTION_MS = 3_600_000;
/** Rows are erased at most an eighth of the retention after their expiry, so they still stand. */
const PAST_MS = RETENTION_MS + 60_000;
const KEYS = 16;

export interface ClockFault {
  /** By how much the clock goes back while the second attempt runs. */
  readonly backMs: number;
  /** Whether the process is killed then, too. */
  readonly restarts: boolean;
}

/** What went wrong. `main` is the entry of all code. */
export async function clockGoesBack(main: string, { backMs, restarts }: ClockFault): Promise<readonly string[]> {
  const origin = await startOrigin();
  const vars = {
    IDEMPOTENCY: { origin: origin.url, retention: `${RETENTION_MS}ms` },
    ROUTES: [{ path: "/pay" }],
    ADMIN_TOKEN,
  };
  const fleet = { workers: LAYOUTS, workersMain: main, objectsMain: main };
  const scene = await startLayoutScene({ vars, ...fleet });
  const wrong: string[] = [];
  const expectAll = (
    when: string,
    answers: readonly RawResponse[],
    isRight: (answer: RawResponse) => boolean,
  ): void => {
    const others = answers
      .filter((answer) => !isRight(answer))
      .map(({ status, body }) => `${status} ${body.toString()}`);
    if (others.length > 0) wrong.push(`${when}: ${[...new Set(others)].join(", ")}`);
  };
  try {
    const keys = Array.from({ length: KEYS }, freshKey);
    for (const key of keys) {
      const [first, second] = [
        { status: 201, body: "first" },
        { status: 201, body: "second", hold: true },
      ];
      await origin.behave({ key }, { sequence: [first, second] });
      expectAll("a first request", [await ask(scene, "old", key)], isAnswer("first"));
    }
    await closeLayout(scene.url("new"), "4");
    for (const key of keys.slice(0, KEYS / 2)) {
      expectAll("a replay through the newer deployment", [await ask(scene, "new", key)], isAnswer("first"));
    }
    await scene.setClock(PAST_MS);
    const seconds = keys.map(async (key) => ask(scene, "new", key).catch(() => null));
    for (const key of keys) await origin.arrived(key, 2);
    await scene.setClock(PAST_MS - backMs);
    expectAll("while the second attempt runs", await askAll(scene, keys), isRefusal);
    if (restarts) {
      await scene.restart(fleet);
      await scene.setClock(PAST_MS - backMs);
      await origin.release();
      expectAll("after the second attempt was lost", await askAll(scene, keys), isRefusal);
    } else {
      await origin.release();
      expectAll(
        "the second answer",
        (await Promise.all(seconds)).filter((answer) => answer !== null),
        isAnswer("second"),
      );
      expectAll("a replay of the second answer", await askAll(scene, keys), isAnswer("second"));
    }
    await scene.setClock(0);
    expectAll("when the clock is right again", await askAll(scene, keys), (answer) => !isAnswer("first")(answer));
    await expectArrivals(origin, keys, wrong);
  } finally {
    await scene.close();
    await origin.close();
  }
  return wrong;
}

async function expectArrivals(origin: TestOrigin, keys: readonly string[], wrong: string[]): Promise<void> {
  for (const key of keys) {
    const arrived = (await origin.requests(key)).length;
    if (arrived !== 2) wrong.push(`${arrived} arrivals of a key, not 2`);
  }
}

function ask(scene: LayoutScene<Name>, name: Name, key: string): Promise<RawResponse> {
  const headers = [["Idempotency-Key", key]] as const;
  return rawRequest({ ...endpoint(scene.url(name)), method: "POST", target: "/pay", headers, body: "{}" });
}

function askAll(scene: LayoutScene<Name>, keys: readonly string[]): Promise<readonly RawResponse[]> {
  return Promise.all(keys.flatMap((key) => NAMES.map((name) => ask(scene, name, key))));
}

function isAnswer(text: string): (answer: RawResponse) => boolean {
  return ({ status, body }) => status === 201 && body.toString() === text;
}

/** In flight, or its outcome unknown. */
function isRefusal({ status }: RawResponse): boolean {
  return status === 409;
}
