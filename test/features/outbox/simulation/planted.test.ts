// Does the simulation see anything of events? As ../planted.test.ts.

import { afterEach, describe, it, vi } from "vitest";
import { expectFound, original } from "../../../simulation/plant.ts";
import * as OutboxRules from "../../../../src/kernel/record/outbox.ts";
import { epochMs } from "../../../../src/kernel/record/units.ts";
import { KEEP_DEAD_MS } from "./destinations.ts";
import { OutboxRelay } from "../../../../src/features/outbox/object/relay.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { OutboxRows } from "../../../../src/features/outbox/object/rows.ts";
import { DEAD } from "../../../../src/features/outbox/object/outbox-tables.ts";
import { OutboxList } from "../../../../src/features/outbox/object/list.ts";
import { RestRows } from "../../../../src/features/outbox/object/rests.ts";
import { OutboxStore } from "../../../../src/features/outbox/object/outbox-store.ts";

type After = typeof OutboxRules.afterFailure;
type Rest = typeof OutboxRules.restAfter;

interface Planted {
  after: ((actual: After, ...given: Parameters<After>) => ReturnType<After>) | null;
  rest: ((actual: Rest, ...given: Parameters<Rest>) => ReturnType<Rest>) | null;
  from: typeof OutboxRules.triedFrom | null;
  away: typeof OutboxRules.isAway | null;
}

const planted = vi.hoisted((): Planted => ({ after: null, rest: null, from: null, away: null }));

vi.mock(import("../../../../src/kernel/record/outbox.ts"), async (importOriginal) => {
  const actual = await importOriginal();
  const afterFailure: After = (...given) =>
    planted.after === null ? actual.afterFailure(...given) : planted.after(actual.afterFailure, ...given);
  const restAfter: Rest = (...given) =>
    planted.rest === null ? actual.restAfter(...given) : planted.rest(actual.restAfter, ...given);
  const triedFrom: typeof OutboxRules.triedFrom = (...given) => (planted.from ?? actual.triedFrom)(...given);
  const isAway: typeof OutboxRules.isAway = (...given) => (planted.away ?? actual.isAway)(...given);
  return { ...actual, afterFailure, restAfter, triedFrom, isAway };
});

afterEach(() => {
  planted.after = null;
  planted.rest = null;
  planted.from = null;
  planted.away = null;
});

describe("an event", () => {
  it("that is stored in another turn than its result breaks G11", async () => {
    const insert = original(OutboxRows.prototype, "insert");
    vi.spyOn(OutboxRows.prototype, "insert").mockImplementation(function later(this: OutboxRows, ...row) {
      setTimeout(() => insert.apply(this, row), 0);
    });
    await expectFound(/G11: the result of \w+ is durable, and event \w+-\d is not/, "events");
  });

  it("that is stored before its result breaks G11", async () => {
    const save = original(Ledger.prototype, "save");
    vi.spyOn(Ledger.prototype, "save").mockImplementation(function early(this: Ledger, id, entry, record, ...more) {
      const [attachments, joined = []] = more;
      const writes = joined.flatMap(({ write }) => write ?? []);
      if (record?.state !== "completed" || writes.length === 0) return save.call(this, id, entry, record, ...more);
      for (const write of writes) write();
      setTimeout(() => save.call(this, id, entry, record, attachments), 0);
    });
    await expectFound(/G11: event \w+-\d is stored, and r\d has no result that publishes it/, "events");
  });

  it("of an attempt without a result breaks G11", async () => {
    const save = original(Ledger.prototype, "save");
    vi.spyOn(Ledger.prototype, "save").mockImplementation(function hasty(this: Ledger, id, entry, record, ...more) {
      save.call(this, id, entry, record, ...more);
      if (record === null || record.state !== "failed") return;
      const event = { id: `${record.attempt.id}-0`, destination: "hook", lane: 0, event: '{"id":"","subject":""}' };
      const { events } = new OutboxStore(this.tables);
      events.insert(id, [event], record.attempt.startedAt);
      events.added();
    });
    await expectFound(/G11: event \w+-\d is stored, and r\d has no result that publishes it/, "events");
  });

  it("that an operator's result does not have breaks G11", async () => {
    const eventsOf = original(OutboxRelay.prototype, "eventsOf");
    vi.spyOn(OutboxRelay.prototype, "eventsOf").mockImplementation(function own(
      this: OutboxRelay,
      id,
      before,
      ...rest
    ) {
      return before?.state === "unknown" ? [] : eventsOf.call(this, id, before, ...rest);
    });
    await expectFound(/G11: the result of \w+ is durable, and event \w+-\d is not/, "events", "operators");
  });

  it("that is deleted before it is taken breaks G11", async () => {
    const due = original(OutboxRows.prototype, "due");
    vi.spyOn(OutboxRows.prototype, "due").mockImplementation(function early(this: OutboxRows, ...given) {
      const events = due.apply(this, given);
      this.delete(events);
      return events;
    });
    await expectFound(/G11: event \w+-\d is sent to \w+, and it is not durable/, "events");
  });

  it("that is sent with another id each time breaks G11", async () => {
    const due = original(OutboxRows.prototype, "due");
    vi.spyOn(OutboxRows.prototype, "due").mockImplementation(function renamed(this: OutboxRows, ...given) {
      const events = due.apply(this, given);
      for (const one of events) Object.assign(one, { event: one.event.replace(one.id, `${one.id}.${one.tries}`) });
      return events;
    });
    await expectFound(/G11: event \w+-\d is sent to \w+, and it is not durable/, "events");
  });

  it("that is dead after its first failure breaks G11", async () => {
    planted.after = () => ({ kind: "dead" });
    await expectFound(/G11: event \w+-\d is dead after \d+ ms/, "events");
  });

  it("that dies and was never sent breaks G11", async () => {
    const due = original(OutboxRows.prototype, "due");
    vi.spyOn(OutboxRows.prototype, "due").mockImplementation(function unsent(this: OutboxRows, ...given) {
      const events = due.apply(this, given);
      for (const one of events) this.move(one, DEAD + given[2], { at: given[2] });
      return [];
    });
    await expectFound(/G11: event \w+-\d is dead, and was never sent/, "events");
  });

  it("that is dead and erased at once breaks G11", async () => {
    const eraseDead = original(OutboxRows.prototype, "eraseDead");
    vi.spyOn(OutboxRows.prototype, "eraseDead").mockImplementation(function soon(this: OutboxRows, ...given) {
      const [destination, until, most] = given;
      return eraseDead.call(this, destination, epochMs(until + KEEP_DEAD_MS), most);
    });
    await expectFound(/G11: event \w+-\d is gone, and nobody has taken it/, "events");
  });

  it("for which no alarm comes breaks G11", async () => {
    vi.spyOn(OutboxRelay.prototype, "nextAt").mockReturnValue(null);
    await expectFound(/G11: (the alarm is set to \w+, but event|event \w+-\d is neither taken nor erased)/, "events");
  });
});

describe("a lane", () => {
  it("that waits for another's rest breaks G11", async () => {
    planted.from = ({ at }, rests) => epochMs(Math.max(at, ...[...rests.values()].map(({ until }) => until)));
    await expectFound(/G11: the alarm is set to \w+, but event/, "events");
  });

  it("that rests because another has failed breaks G11", async () => {
    const rest = original(RestRows.prototype, "put");
    vi.spyOn(RestRows.prototype, "put").mockImplementation(function all(this: RestRows, destination, _lane, how) {
      for (let lane = 0; lane < OutboxRules.ALL_LANES; lane += 1) rest.call(this, destination, lane, how);
    });
    await expectFound(/G11: \w+ \d+ rests after \d+ failures, and has failed \d+ times/, "events");
  });

  it("that rests because its destination refuses one event breaks G11", async () => {
    const endRest = original(RestRows.prototype, "end");
    let refused: string | null = null;
    planted.after = (actual, event, giveUp, failure, ...rest) => {
      refused = failure.scope === "event" ? "an event" : null;
      return actual(event, giveUp, failure, ...rest);
    };
    vi.spyOn(RestRows.prototype, "end").mockImplementation(function poisoned(this: RestRows, to, lane) {
      if (refused === null) endRest.call(this, to, lane);
      else
        this.put(to, lane, {
          until: epochMs(Date.now() + 5000),
          setAt: epochMs(Date.now()),
          failures: 1,
          reason: refused,
        });
      refused = null;
    });
    await expectFound(/G11: \w+ \d+ rests after \d+ failures, and has failed \d+ times/, "events");
  });
});

describe("a destination", () => {
  it("that rests as a whole because one lane had no answer breaks G11", async () => {
    planted.away = () => true;
    await expectFound(/G11: \w+ rests as a whole after \d lanes had no answer/, "events");
  });

  it("that rests because another has failed breaks G11", async () => {
    const rest = original(RestRows.prototype, "put");
    vi.spyOn(RestRows.prototype, "put").mockImplementation(function all(this: RestRows, _destination, ...how) {
      for (const destination of ["hook", "queue", "other"]) rest.call(this, destination, ...how);
    });
    await expectFound(/G11: \w+ \d+ rests after \d+ failures, and has failed \d+ times/, "events");
  });

  it("that rests for ever breaks G11", async () => {
    planted.rest = (actual, ...given) => ({ ...actual(...given), until: epochMs(Date.now() + 1e12) });
    await expectFound(/G11: \w+ \d+ rests until \d+, longer than the longest pause/, "events");
  });

  it("that waits for all before it breaks G11", async () => {
    const destinations = original(OutboxRows.prototype, "destinations");
    vi.spyOn(OutboxRows.prototype, "destinations").mockImplementation(function first(this: OutboxRows) {
      return destinations.call(this).slice(0, 1);
    });
    await expectFound(/G11: (the alarm is set to \w+, but event|event \w+-\d is neither taken nor erased)/, "events");
  });
});

describe("what a clock that was ahead has put off", () => {
  it("is an event, or the rest of its lane, and breaks G11", async () => {
    vi.spyOn(OutboxList.prototype, "bringBack").mockReturnValue(0);
    await expectFound(/G11: (event \w+-\d waits|\w+ \d+ rests) until \d+, longer than/, "jumps", "events");
  });
});
