// Parses the texts of a queue's settings that have their own syntax: where a message goes, its headers, the statuses that
// settle it, where its key comes from. Checks one value alone; `queue-checks.ts` checks the relations between settings.

import type { MessageHeader } from "../../../kernel/config/resolved.ts";
import {
  type KeyPart,
  type KeySource,
  parseKeySource,
  parseKeySources,
  partsOf,
  type WrittenSource,
} from "../../../kernel/config/key-source.ts";
import { type ParsedSetting, refuseValue } from "../../../kernel/config/units.ts";
import { firstRepeated, TOKEN } from "../../../kernel/config/values.ts";

export const HEADER_VALUE_PATTERN = "^[\\x21-\\x7e](?:[\\x20-\\x7e]*[\\x21-\\x7e])?$";
const HEADER_VALUE = new RegExp(HEADER_VALUE_PATTERN);

/** Names of headers that the gateway or the runtime sets, or that mean a connection (RFC 9110, section 7.6.1). */
const RESERVED =
  /^(?:idempotency-.*|onceway-.*|proxy-.*|connection|content-length|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade)$/;

const SECRET = "secret:";

/** Names of secrets. No two leading underscores: `__proto__` must not look like one. */
const SECRET_NAME = /^(?!__)[A-Za-z_$][A-Za-z0-9_$]*$/;

/** `to`: a path at the origin, or a URL. */
export function parseTo(value: string): ParsedSetting<string> {
  const advice = 'write to = "/internal/orders"';
  if (!/^(?:\/|https?:\/\/)/i.test(value) || value.startsWith("//") || !URL.canParse(value, "https://origin")) {
    return refuseValue(`must be a path at the origin or an http or https URL: ${advice}`);
  }
  if (value.includes("#")) return refuseValue(`must not carry a fragment: ${advice}`);
  const { username, password } = new URL(value, "https://origin");
  if (username === "" && password === "") return { ok: true, value };
  return refuseValue('must not carry credentials: write headers = { authorization = "secret:NAME" }');
}

/** `headers`: none that the gateway or the runtime sets. */
export function parseHeaderTable(table: Readonly<Record<string, string>>): ParsedSetting<readonly MessageHeader[]> {
  const names = Object.keys(table).map((name) => name.toLowerCase());
  const twice = firstRepeated(names);
  if (twice !== null) return refuseValue(`has ${twice} twice: write it once`);
  const headers: MessageHeader[] = [];
  for (const [written, text] of Object.entries(table)) {
    const name = written.toLowerCase();
    if (!TOKEN.test(name))
      return refuseValue(`"${written}" is not a header name (RFC 9110, 5.6.2): write letters, digits and hyphens`);
    if (RESERVED.test(name))
      return refuseValue(`must not have ${written}, which is not the configuration's: leave it out`);
    if (!HEADER_VALUE.test(text))
      return refuseValue(`has a value for ${written} that is not visible ASCII: write another value`);
    if (!text.startsWith(SECRET)) {
      headers.push({ name, value: { kind: "text", text } });
      continue;
    }
    const secret = text.slice(SECRET.length);
    if (!SECRET_NAME.test(secret)) return refuseValue(`must name a secret for ${written}: write "secret:ORDERS_AUTH"`);
    headers.push({ name, value: { kind: "secret", secret } });
  }
  return { ok: true, value: headers };
}

/** `done`: statuses, and classes of them. */
export function parseDone(list: readonly (number | string)[]): ParsedSetting<readonly number[]> {
  const statuses = new Set<number>();
  for (const one of list) {
    if (typeof one === "number" && Number.isInteger(one) && one >= 200 && one <= 599) statuses.add(one);
    else if (typeof one === "string" && /^[2-5]xx$/.test(one)) {
      const first = Number(one.slice(0, 1)) * 100;
      for (let status = first; status < first + 100; status += 1) statuses.add(status);
    } else return refuseValue(`${JSON.stringify(one)} is no status: write 200 to 599, or "2xx" to "5xx"`);
  }
  return statuses.size === 0
    ? refuseValue('must name a status: write ["2xx", "3xx"]')
    : { ok: true, value: [...statuses] };
}

/** Where a message's key comes from. */
export interface MessageKey {
  readonly sources: readonly KeySource[];
  readonly hasIdAsKey: boolean;
}

const NO_REQUEST = 'is for requests: write "json:/POINTER", because a message has a body and nothing else';

/** `key`: places in the body, and last of all the message's id, which every message has. */
export function parseMessageKey(list: readonly WrittenSource[]): ParsedSetting<MessageKey> {
  const id = list.indexOf("id");
  if (id !== -1 && id < list.length - 1)
    return refuseValue('has places after "id", which every message has: write "id" last');
  const sources: KeySource[] = [];
  for (const written of id === -1 ? list : list.slice(0, -1)) {
    const source = parseKeySource(written);
    if (!source.ok) return source;
    if (partsOf(source.value).some(({ kind }) => kind !== "json")) return refuseValue(NO_REQUEST);
    sources.push(source.value);
  }
  const all = parseKeySources(sources);
  return all.ok ? { ok: true, value: { sources: all.value, hasIdAsKey: id !== -1 } } : all;
}

/** `scope`: places in the body. */
export function parseMessageScope(list: readonly string[]): ParsedSetting<readonly KeyPart[]> {
  const key = parseMessageKey(list);
  if (!key.ok) return key;
  const parts = key.value.sources.flatMap((source) => (source.kind === "json" ? [source] : []));
  return parts.length === list.length
    ? { ok: true, value: parts }
    : refuseValue('takes places in the body: write ["json:/tenant"]');
}
