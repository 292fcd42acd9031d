// The events of a result, as their receivers get them.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { NewEvent, EventPublication } from "../../../../src/kernel/record/outbox.ts";
import { attemptId, epochMs, recordId } from "../../../../src/kernel/record/units.ts";
import { eventsOf, type ResultFacts } from "../../../../src/features/outbox/cloud-event.ts";

const PUBLICATION: EventPublication = { to: "billing", type: "order.created", when: ["2xx"], data: "response" };

function facts(changes: Partial<ResultFacts> = {}): ResultFacts {
  return {
    recordId: recordId("a1b2"),
    lane: 5,
    route: "/v1/orders/:id",
    key: "order-7",
    attempt: { id: attemptId("5f0c"), number: 2 },
    status: 201,
    completedAt: epochMs(Date.UTC(2026, 10, 22, 8)),
    headers: [["Content-Type", "application/json; charset=utf-8"]],
    body: new TextEncoder().encode('{ "id": 12345678901234567890 }'),
    originEvents: null,
    ...changes,
  };
}

function only(publication: EventPublication, given: ResultFacts): { readonly id: string; readonly data: unknown } {
  const events = eventsOf([publication], given);
  expect(events).toHaveLength(1);
  return JSON.parse(events[0]?.event ?? "");
}

function texts(events: readonly NewEvent[]): readonly string[] {
  return events.map(({ event }) => event);
}

describe("an event", () => {
  it("is a CloudEvent that names its record, its attempt and when it was completed", () => {
    const [event] = eventsOf([PUBLICATION], facts());
    expect(event).toMatchObject({ id: "5f0c-0", destination: "billing", lane: 5 });
    expect(JSON.parse(event?.event ?? "")).toEqual({
      specversion: "1.0",
      id: "5f0c-0",
      source: "onceway:/v1/orders/:id",
      type: "order.created",
      subject: "a1b2",
      time: "2026-11-22T08:00:00.000Z",
      datacontenttype: "application/json",
      attempt: 2,
      data: { status: 201, contentType: "application/json; charset=utf-8", body: { id: expect.any(Number) } },
    });
  });

  it("has another id in another record, and at another time, where a consumer chooses the ids of its attempts", () => {
    const idOf = (id: string, more: Partial<ResultFacts> = {}): string | undefined =>
      eventsOf([PUBLICATION], facts({ route: "claims:billing", recordId: recordId(id), ...more }))[0]?.id;
    expect(idOf("a1b2")).toBe("a1b2-5f0c-mwrjqww0-0");
    expect(idOf("c3d4")).not.toBe(idOf("a1b2"));
    expect(idOf("a1b2", { completedAt: epochMs(1) })).not.toBe(idOf("a1b2"));
  });

  it("carries JSON digit for digit", () => {
    expect(eventsOf([PUBLICATION], facts())[0]?.event).toContain('"body":{ "id": 12345678901234567890 }');
  });

  it("carries text as text, and bytes in Base64", () => {
    const data = (type: string | null, bytes: Uint8Array): unknown =>
      only(PUBLICATION, facts({ headers: type === null ? [] : [["content-type", type]], body: bytes })).data;
    const json = new TextEncoder().encode('{"a":1');
    expect(data("application/json", json)).toEqual({ status: 201, contentType: "application/json", body: '{"a":1' });
    expect(data(null, json)).toEqual({ status: 201, contentType: null, body: '{"a":1' });
    expect(data("image/png", new Uint8Array([0xff, 0]))).toMatchObject({ bodyBase64: "/wA=" });
    expect(data("application/problem+json", new TextEncoder().encode("[1]"))).toMatchObject({ body: [1] });
  });

  it("names the encoding of a compressed body, and never shows its bytes as text", () => {
    const headers = [
      ["content-type", "application/json"],
      ["Content-Encoding", "gzip"],
    ] as const;
    const given = facts({ headers, body: new TextEncoder().encode("{}") });
    expect(only(PUBLICATION, given).data).toEqual({
      status: 201,
      contentType: "application/json",
      contentEncoding: "gzip",
      bodyBase64: "e30=",
    });
  });

  it("says why it leaves out a body: it is not kept, or makes the event too large", () => {
    const left = { status: 201, contentType: "application/json; charset=utf-8" };
    for (const bodyOmitted of ["not-kept", "too-large"] as const) {
      expect(only(PUBLICATION, facts({ body: bodyOmitted })).data).toEqual({ ...left, bodyOmitted });
    }
    const large = new TextEncoder().encode(JSON.stringify("ü".repeat(60_000)));
    expect(only(PUBLICATION, facts({ body: large })).data).toEqual({ ...left, bodyOmitted: "too-large" });
    expect(only({ ...PUBLICATION, data: "none" }, facts()).data).toEqual({ status: 201 });
  });

  it("has the key of the next step where that is named", () => {
    expect(only({ ...PUBLICATION, step: "payment" }, facts())).toMatchObject({ idempotencykey: "order-7:payment" });
  });

  it("has an id of its own in each publication of a result, whatever other publications say", () => {
    const publications = [{ ...PUBLICATION, when: [404] }, PUBLICATION, { ...PUBLICATION, to: "audit" }];
    expect(eventsOf(publications, facts()).map(({ id }) => id)).toEqual(["5f0c-1", "5f0c-2"]);
    expect(eventsOf(publications, facts({ status: 404 })).map(({ id }) => id)).toEqual(["5f0c-0"]);
  });

  it("is the same each time, valid and small enough, whatever the response is", () => {
    const responses = fc.record({
      type: fc.option(fc.constantFrom("application/json", "text/plain", "a/b+json"), { nil: null }),
      body: fc.option(
        fc.oneof(
          fc.uint8Array({ maxLength: 300 }),
          fc.json().map((text) => new TextEncoder().encode(text)),
          fc.integer({ min: 80_000, max: 98_304 }).map((length) => new Uint8Array(length).fill(34)),
        ),
        { nil: "not-kept" as const },
      ),
    });
    fc.assert(
      fc.property(responses, ({ type, body }) => {
        const given = facts({ headers: type === null ? [] : [["content-type", type]], body });
        const made = texts(eventsOf([PUBLICATION], given));
        expect(texts(eventsOf([PUBLICATION], given))).toEqual(made);
        for (const text of made) {
          expect(JSON.parse(text)).toMatchObject({ data: { status: 201 } });
          expect(new TextEncoder().encode(text).byteLength).toBeLessThanOrEqual(120_000);
        }
      }),
    );
  });
});

describe("what the origin says itself", () => {
  const ORIGINS: EventPublication = { ...PUBLICATION, data: "origin" };

  it("is an event for each object, also over several header lines", () => {
    const header = '{"type":"order.paid","data":{"a":1}}, [{"data":"b"},{}]';
    const events = eventsOf([ORIGINS], facts({ originEvents: header }));
    expect(events.map(({ event }): unknown => JSON.parse(event))).toMatchObject([
      { id: "5f0c-0.0", type: "order.paid", data: { a: 1 } },
      { id: "5f0c-0.1", type: "order.created", data: "b" },
      { id: "5f0c-0.2", type: "order.created", data: null },
    ]);
  });

  it("is at most 20 events, because each is a row of the result's commit", () => {
    const header = (events: number): string => JSON.stringify(Array.from({ length: events }, () => ({})));
    expect(eventsOf([ORIGINS], facts({ originEvents: header(20) }))).toHaveLength(20);
    expect(only(ORIGINS, facts({ originEvents: header(21) }))).toMatchObject({ data: { header: header(21) } });
  });

  it("is nothing if it says nothing, and nothing of it is lost if it cannot be read", () => {
    expect(eventsOf([ORIGINS], facts())).toEqual([]);
    for (const header of ["{", '"text"', "1", '{"type":""}', '{"type":1}', "[[{}]]"]) {
      expect(only(ORIGINS, facts({ originEvents: header }))).toMatchObject({
        type: "dev.onceway.origin-event.unreadable",
        data: { status: 201, header },
      });
    }
  });
});
