// The address of a client, and the network that stands for whoever has it. One address has many spellings (RFC 4291, section 2.2), and
// whoever has one IPv6 address has the 2^64 of its network: counted by address, that is a new caller with each request.

/** Cloudflare overwrites whatever a client sends under this name (developers.cloudflare.com, "HTTP headers"). */
export const CLIENT_ADDRESS = "cf-connecting-ip";

const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;
const IPV6_GROUPS = 8;
/** Groups of an IPv6 address that name its network: a /64 is the smallest that a provider hands out. */
const NETWORK_GROUPS = 4;

/**
 * The address in one spelling: an IPv6 address with all its groups, and an IPv4 address that is mapped into IPv6 (`::ffff:192.0.2.1`) as
 * IPv4, because a listener for both families writes it so. A text that is no address stays as it is.
 */
export function canonicalAddress(text: string): string {
  const groups = groupsOf(text);
  if (groups === null) return text;
  return mappedIn(groups) ?? groups.map((group) => group.toString(16)).join(":");
}

/** Counts stand for this: an IPv4 address, or the /64 of an IPv6 address. */
export function networkOf(text: string): string {
  const groups = groupsOf(text);
  if (groups === null) return text;
  const network = groups.slice(0, NETWORK_GROUPS).map((group) => group.toString(16));
  return mappedIn(groups) ?? `${network.join(":")}::/64`;
}

/** The IPv4 address in `::ffff:0:0/96`; `null`: the address is another one. */
function mappedIn(groups: readonly number[]): string | null {
  const [high = 0, low = 0] = groups.slice(6);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xff_ff;
  return isMapped ? [high >> 8, high & 0xff, low >> 8, low & 0xff].join(".") : null;
}

/** `null`: it is no IPv6 address. A zone (`%eth0`) names an interface of this machine, not a client. */
function groupsOf(text: string): readonly number[] | null {
  const [bare = ""] = text.split("%", 1);
  if (!bare.includes(":")) return null;
  const halves = bare.split("::").map(readGroups);
  const [head = null, tail] = halves;
  if (halves.length > 2 || head === null || tail === null) return null;
  if (tail === undefined) return head.length === IPV6_GROUPS ? head : null;
  const zeros = IPV6_GROUPS - head.length - tail.length;
  return zeros < 1 ? null : [...head, ...Array.from({ length: zeros }, () => 0), ...tail];
}

function readGroups(half: string): readonly number[] | null {
  const parts = half === "" ? [] : half.split(":");
  const groups = parts.flatMap((part, at) => {
    if (at === parts.length - 1 && IPV4.test(part)) return readIpv4(part);
    return /^[0-9a-f]{1,4}$/i.test(part) ? [Number.parseInt(part, 16)] : [Number.NaN];
  });
  return groups.some(Number.isNaN) ? null : groups;
}

/** As two groups. */
function readIpv4(text: string): readonly number[] {
  const [a = 0, b = 0, c = 0, d = 0] = text.split(".").map(Number);
  return [a, b, c, d].some((byte) => byte > 255) ? [Number.NaN] : [a * 256 + b, c * 256 + d];
}
