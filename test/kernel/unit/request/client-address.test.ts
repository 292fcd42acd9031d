import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalAddress, networkOf } from "../../../../src/kernel/request/client-address.ts";

const ipv4 = fc.ipV4();
const ipv6 = fc.array(fc.integer({ min: 0, max: 0xff_ff }), { minLength: 8, maxLength: 8 });
const hexOf = (groups: readonly number[]): string => groups.map((group) => group.toString(16)).join(":");

describe("an address", () => {
  it.each([
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["::FFFF:C000:0201", "192.0.2.1"],
    ["0:0:0:0:0:ffff:192.0.2.1", "192.0.2.1"],
    ["2001:DB8::1", "2001:db8:0:0:0:0:0:1"],
    ["2001:0db8:0000::0001", "2001:db8:0:0:0:0:0:1"],
    ["fe80::1%eth0", "fe80:0:0:0:0:0:0:1"],
    ["::", "0:0:0:0:0:0:0:0"],
    ["64:ff9b::192.0.2.1", "64:ff9b:0:0:0:0:c000:201"],
  ])("has one spelling: %s", (written, canonical) => {
    expect(canonicalAddress(written)).toBe(canonical);
    expect(canonicalAddress(canonical)).toBe(canonical);
  });

  it.each([
    "",
    "local",
    "unknown:",
    "1::2::3",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4:5:6:7",
    "::ffff:192.0.2.999",
    "g::1",
    "12345::",
  ])("that is none stays as it is, and is a network of its own: %s", (text) => {
    expect(canonicalAddress(text)).toBe(text);
    expect(networkOf(text)).toBe(text);
  });
});

describe("the network of an address", () => {
  it("is the address itself in IPv4, also where it is mapped into IPv6", () => {
    fc.assert(
      fc.property(ipv4, (address) => {
        expect(networkOf(address)).toBe(address);
        expect(networkOf(`::ffff:${address}`)).toBe(address);
      }),
    );
  });

  it("is the /64 in IPv6, whatever follows and however it is written", () => {
    fc.assert(
      fc.property(ipv6, ipv6, (one, other) => {
        const neighbour = [...one.slice(0, 4), ...other.slice(4)];
        fc.pre(one.slice(0, 4).some((group) => group !== 0));
        expect(networkOf(hexOf(one))).toBe(networkOf(hexOf(neighbour).toUpperCase()));
        const isSame = one.slice(0, 4).every((group, at) => group === other[at]);
        expect(networkOf(hexOf(one)) === networkOf(hexOf(other))).toBe(isSame);
      }),
    );
  });
});
