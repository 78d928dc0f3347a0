import { expect, test } from "vitest";
import { addressList, canonicalAddress, isCidr, rateLimitBucket } from "./cidr.ts";

test("addresses are brought to one form before they are compared", () => {
  expect(canonicalAddress("::ffff:10.0.0.1")).toBe("10.0.0.1");
  expect(canonicalAddress("::ffff:a00:1")).toBe("10.0.0.1");
  expect(canonicalAddress("[2001:DB8:0:0::1]")).toBe("2001:db8::1");
  expect(canonicalAddress("fe80::1%eth0")).toBe("fe80::1");
  for (const bad of ["", "355.1.1.1", "10.0.0.1:80", "0x7f.1", "1.2.3", "::g", "unknown", "127.0.0.1, 10.0.0.1"]) {
    expect(canonicalAddress(bad)).toBeUndefined();
  }
});

test("blocks of both families are matched, and nothing else is", () => {
  const list = addressList(["10.0.0.0/8", "2001:db8::/32", "192.0.2.7"]);
  for (const inside of ["10.255.0.1", "2001:db8:1::5", "192.0.2.7"]) expect(list.has(inside)).toBe(true);
  for (const outside of ["11.0.0.1", "2001:db9::1", "192.0.2.8", "garbage"]) expect(list.has(outside)).toBe(false);
});

test("AUTH-07 the whole of one family is nothing of the other, and a mapped block is the IPv4 block it maps", () => {
  expect(addressList(["::/0"]).has("203.0.113.1")).toBe(false);
  expect(addressList(["::/0"]).has("2001:db8::1")).toBe(true);
  expect(addressList(["0.0.0.0/0"]).has("2001:db8::1")).toBe(false);
  for (const entry of ["::ffff:10.0.0.0/104", "::ffff:a00:0/104"]) {
    expect(addressList([entry]).has("10.255.0.1")).toBe(true);
    expect(addressList([entry]).has("11.0.0.1")).toBe(false);
  }
});

test("what is a CIDR block and what is not", () => {
  for (const good of ["10.0.0.0/8", "::/0", "1.2.3.4", "2001:db8::1/128"]) expect(isCidr(good)).toBe(true);
  for (const bad of ["10.0.0.0/33", "10.0.0.0/8/8", "a/8", "10.0.0.0/-1", "10.0.0.0/", "fe80::1%eth0", ""])
    expect(isCidr(bad)).toBe(false);
});

test("one IPv6 customer is one bucket, however many addresses it has", () => {
  expect(rateLimitBucket("2001:db8:1:2:3:4:5:6")).toBe(rateLimitBucket("2001:db8:1:2::9"));
  expect(rateLimitBucket("2001:db8:1:3::9")).not.toBe(rateLimitBucket("2001:db8:1:2::9"));
  expect(rateLimitBucket("10.0.0.1")).toBe("10.0.0.1");
});
