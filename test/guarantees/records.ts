// Sorts a history into one record per key and scope, with all its requests and everything that the origin did for it, and
// the times during which something was broken.

import type {
  Arrival,
  DeadLetter,
  Decision,
  Delivery,
  Died,
  Effect,
  EventTry,
  Exchange,
  HistoryEvent,
  KeyQuestion,
  LedgerLook,
  Look,
  Message,
  Meta,
  NewKey,
  Outage,
  OutboxLook,
  ParkedLook,
  Verification,
  RoutePolicy,
  Undo,
} from "./history.ts";

export interface Violation {
  readonly rule: string;
  readonly what: string;
  /** The events that show it: `q12` (a request), `arrival 7`. */
  readonly evidence: readonly string[];
}

/** What makes the gateway call the origin: a client's request, or a delivery of a message. */
export type Cause = Pick<
  Exchange,
  "id" | "key" | "scope" | "path" | "fingerprint" | "partial" | "bytes" | "bodySha256" | "sentAt" | "endAt"
>;

/** A delivery, and the message that was delivered. Its `id` names both. */
export interface Delivered extends Cause, Pick<Delivery, "number" | "outcome"> {
  readonly message: Message;
}

export interface RecordHistory {
  readonly key: string;
  readonly scope: string;
  readonly policy: RoutePolicy;
  /** Ordered by the time of their first byte. */
  readonly exchanges: readonly Exchange[];
  /** Ordered by the time of their arrival. */
  readonly arrivals: readonly Arrival[];
  /** Of this key's requests, and `foreign` those of others to the same resource. */
  readonly effects: readonly Effect[];
  readonly foreign: readonly Effect[];
  readonly undone: readonly Undo[];
  readonly verifications: readonly Verification[];
  readonly decisions: readonly Decision[];
  /** Questions to its monitor. */
  readonly looks: readonly Look[];
  /** What its clients asked about the key, and the keys with which they began afresh. */
  readonly keyQuestions: readonly KeyQuestion[];
  readonly newKeys: readonly NewKey[];
  /** Of messages with this key, ordered by their beginning; and the dead letters of these messages, ordered by their arrival. */
  readonly deliveries: readonly Delivered[];
  readonly letters: readonly DeadLetter[];
}

export interface World {
  readonly meta: Meta;
  readonly records: readonly RecordHistory[];
  /** All but those of the bucket. */
  readonly outages: readonly Outage[];
  readonly bucketOutages: readonly Outage[];
  readonly ledger: LedgerLook | null;
  readonly deaths: readonly Died[];
  /** What no destination has taken at the end; `null`: nothing was published. */
  readonly outbox: OutboxLook | null;
  /** What the receiver was sent for records of this key, in the order of arrival. */
  readonly eventsOf: (key: string) => readonly EventTry[];
  /** How many callers have used the key. */
  readonly scopesOf: (key: string) => number;
  readonly exchange: (id: string) => Exchange | undefined;
  readonly cause: (id: string) => Cause | undefined;
  /** Those that were sent, and those that have no record because they are poison, with what became of them. */
  readonly messages: readonly Message[];
  readonly poisoned: readonly PoisonHistory[];
  /** What records keep at the end; `null`: there are no queues. */
  readonly parked: ParkedLook | null;
  /** When an earlier attempt for the same request arrived: the next one was claimed later. */
  readonly previousAt: (arrival: Arrival) => number;
  readonly arrival: (seq: number) => Arrival | undefined;
  /** An answer that the record got from a question or an operator's decision. */
  readonly given: (seq: number) => Verification | Decision | undefined;
}

/** A message without a key that can be read. */
export interface PoisonHistory {
  readonly message: Message;
  readonly deliveries: readonly Delivered[];
  readonly letters: readonly DeadLetter[];
}

interface Draft {
  readonly exchanges: Exchange[];
  readonly arrivals: Arrival[];
  readonly effects: Effect[];
  readonly foreign: Effect[];
  readonly undone: Undo[];
  readonly verifications: Verification[];
  readonly decisions: Decision[];
  readonly looks: Look[];
  readonly keyQuestions: KeyQuestion[];
  readonly newKeys: NewKey[];
  readonly deliveries: Delivered[];
  readonly letters: DeadLetter[];
}

function emptyDraft(): Draft {
  return {
    exchanges: [],
    arrivals: [],
    effects: [],
    foreign: [],
    undone: [],
    verifications: [],
    decisions: [],
    looks: [],
    keyQuestions: [],
    newKeys: [],
    deliveries: [],
    letters: [],
  };
}

function deliveredOf(message: Message, { number, sentAt, endAt, outcome }: Delivery): Delivered {
  const { key, scope, path, fingerprint, bytes, bodySha256 } = message;
  const cause = { id: `${message.id}/${number}`, key, scope, path, fingerprint, partial: false, bytes, bodySha256 };
  return { ...cause, sentAt, endAt, message, number, outcome };
}

export function sortHistory(events: readonly HistoryEvent[]): World {
  let meta: Meta | null = null;
  let ledger: LedgerLook | null = null;
  const outages: Outage[] = [];
  const deaths: Died[] = [];
  let outbox: OutboxLook | null = null;
  const tries: EventTry[] = [];
  const exchanges = new Map<string, Exchange>();
  const arrivals = new Map<number, Arrival>();
  const given = new Map<number, Verification | Decision>();
  const messages = new Map(events.flatMap((event) => (event.type === "message" ? [[event.id, event]] : [])));
  const messageOf = (id: string): Message => {
    const message = messages.get(id);
    if (message === undefined) throw new Error(`nobody has sent the message ${id}`);
    return message;
  };
  const causes = new Map<string, Cause>();
  const poisoned = new Map<Message, Pick<Draft, "deliveries" | "letters">>();
  for (const message of messages.values())
    if (message.poison !== null) poisoned.set(message, { deliveries: [], letters: [] });
  let parked: ParkedLook | null = null;
  const drafts = new Map<string, Draft>();
  const draftOf = ({ key, scope }: { readonly key: string; readonly scope: string }) => {
    const name = JSON.stringify([key, scope]);
    const draft = drafts.get(name) ?? emptyDraft();
    drafts.set(name, draft);
    return draft;
  };
  for (const event of events) {
    switch (event.type) {
      case "meta":
        meta = event;
        break;
      case "exchange":
        exchanges.set(event.id, event);
        causes.set(event.id, event);
        draftOf(event).exchanges.push(event);
        break;
      case "arrival":
        arrivals.set(event.seq, event);
        draftOf(event).arrivals.push(event);
        break;
      case "effect":
        draftOf(event)[event.arrival === 0 ? "foreign" : "effects"].push(event);
        break;
      case "undo":
        draftOf(event).undone.push(event);
        break;
      case "verification":
        given.set(event.seq, event);
        draftOf(event).verifications.push(event);
        break;
      case "decision":
        given.set(event.seq, event);
        draftOf(event).decisions.push(event);
        break;
      case "look":
        draftOf(event).looks.push(event);
        break;
      case "key-question":
        draftOf(event).keyQuestions.push(event);
        break;
      case "new-key":
        draftOf(event).newKeys.push(event);
        break;
      case "message":
        break;
      case "delivery": {
        const message = messageOf(event.message);
        const delivered = deliveredOf(message, event);
        causes.set(delivered.id, delivered);
        (poisoned.get(message) ?? draftOf(message)).deliveries.push(delivered);
        break;
      }
      case "dead-letter": {
        const message = messageOf(event.message);
        (poisoned.get(message) ?? draftOf(message)).letters.push(event);
        break;
      }
      case "parked":
        parked = event;
        break;
      case "event-try":
        tries.push(event);
        break;
      case "outbox":
        outbox = event;
        break;
      case "outage":
        outages.push(event);
        break;
      case "ledger":
        ledger = event;
        break;
      case "died":
        deaths.push(event);
        break;
      case "observed-call":
      case "observed-arrival":
      case "observed-report":
      case "claim-call":
      case "consumer-effect":
      case "claims-end":
      case "position":
      case "erased":
        break;
    }
  }
  const previous = new Map<Arrival, number>();
  const latest = new Map<string, number>();
  for (const arrival of [...arrivals.values()].toSorted((a, b) => a.seq - b.seq)) {
    previous.set(arrival, latest.get(arrival.request) ?? 0);
    latest.set(arrival.request, arrival.at);
  }
  if (meta === null) throw new Error("the history has no meta line");
  const { policies } = meta;
  const records = [...drafts.values()].map((draft): RecordHistory => {
    const [first] = [...draft.exchanges, ...draft.deliveries, ...draft.arrivals];
    const policy = policies[first?.path ?? ""];
    if (first === undefined || policy === undefined) throw new Error("the history has a record of an unknown route");
    return {
      key: first.key,
      scope: first.scope,
      policy,
      exchanges: draft.exchanges.toSorted((a, b) => a.sentAt - b.sentAt),
      arrivals: draft.arrivals.toSorted((a, b) => a.seq - b.seq),
      effects: draft.effects.toSorted((a, b) => a.at - b.at),
      foreign: draft.foreign,
      undone: draft.undone,
      verifications: draft.verifications.toSorted((a, b) => a.at - b.at),
      decisions: draft.decisions.toSorted((a, b) => a.sentAt - b.sentAt),
      looks: draft.looks.toSorted((a, b) => a.sentAt - b.sentAt),
      keyQuestions: draft.keyQuestions.toSorted((a, b) => a.sentAt - b.sentAt),
      newKeys: draft.newKeys,
      deliveries: draft.deliveries.toSorted((a, b) => a.sentAt - b.sentAt),
      letters: draft.letters.toSorted((a, b) => a.at - b.at),
    };
  });
  const triesOf = Map.groupBy(tries, ({ key }) => key);
  const scopesOf = Map.groupBy(records, ({ key }) => key);
  return {
    meta,
    records,
    outages: outages.filter(({ kind }) => kind !== "bucket-fails").toSorted((a, b) => a.from - b.from),
    bucketOutages: outages.filter(({ kind }) => kind === "bucket-fails"),
    ledger,
    deaths,
    outbox,
    eventsOf: (key) => triesOf.get(key) ?? [],
    scopesOf: (key) => scopesOf.get(key)?.length ?? 0,
    exchange: (id) => exchanges.get(id),
    cause: (id) => causes.get(id),
    messages: [...messages.values()],
    poisoned: [...poisoned].map(([message, { deliveries, letters }]) => ({ message, deliveries, letters })),
    parked,
    previousAt: (arrival) => previous.get(arrival) ?? 0,
    arrival: (seq) => arrivals.get(seq),
    given: (seq) => given.get(seq),
  };
}

/** Whether something of these kinds was broken, or had just recovered, within the time. */
export function wasBroken(world: World, from: number, to: number, kinds?: readonly Outage["kind"][]): boolean {
  return world.outages.some(
    (outage) => outage.from <= to && outage.to + MENDING_MS >= from && (kinds?.includes(outage.kind) ?? true),
  );
}

/** How long the machine and the gateway ran within the time: what others took of it is no fault of the gateway's. */
export function ranFor(world: World, from: number, to: number): number {
  let stoodMs = 0;
  let counted = from;
  const stood = world.outages.filter(({ kind }) => kind === "stopped" || kind === "lag" || kind === "slow-disk");
  for (const outage of stood.toSorted((one, other) => one.from - other.from)) {
    const begin = Math.max(counted, outage.from);
    const end = Math.min(to, outage.to + MENDING_MS);
    if (end > begin) stoodMs += end - begin;
    counted = Math.max(counted, end);
  }
  return to - from - stoodMs;
}

/** Whether the bucket of the record's route failed within the time. */
export function bucketFailed({ bucketOutages }: World, { policy }: RecordHistory, from: number, to: number): boolean {
  return policy.hasBucket && bucketOutages.some((outage) => outage.from <= to && outage.to + MENDING_MS >= from);
}

/** A gateway that continues after a stop has to catch up. */
const MENDING_MS = 300;
