import { BlockList, isIP } from "node:net";

/** A list of addresses and CIDR blocks that canonical addresses are checked against. */
export type AddressList = { has(address: string): boolean };

/** Canonical text of an address: IPv4-mapped IPv6 becomes IPv4, zones are dropped; undefined when it is none. */
export function canonicalAddress(text: string): string | undefined {
  const bare = text
    .trim()
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/%.*$/, "");
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare);
  const address = mapped?.[1] ?? bare;
  const family = isIP(address);
  if (family === 0) return undefined;
  if (family === 4) return address;
  const hostname = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const hexMapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(hostname);
  if (hexMapped === null) return hostname;
  const high = Number.parseInt(hexMapped[1] ?? "0", 16);
  const low = Number.parseInt(hexMapped[2] ?? "0", 16);
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

/** The address that a limit counts: one per IPv4 address, one per /64 for IPv6. */
export function limitBucket(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = "", tail = ""] = address.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === "" ? [] : tail.split(":");
  const full = address.includes("::")
    ? [...left, ...Array<string>(8 - left.length - right.length).fill("0"), ...right]
    : left;
  return `${full.slice(0, 4).join(":")}::/64`;
}

/** True when the text is an address or a CIDR block. */
export function isCidr(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

export function addressList(entries: readonly string[]): AddressList {
  const blocks = new BlockList();
  for (const entry of entries) {
    const [address = "", bits] = entry.split("/");
    const family = isIP(address) === 4 ? "ipv4" : "ipv6";
    blocks.addSubnet(address, bits === undefined ? (family === "ipv4" ? 32 : 128) : Number(bits), family);
  }
  return {
    has(address) {
      const family = isIP(address);
      return family !== 0 && blocks.check(address, family === 4 ? "ipv4" : "ipv6");
    },
  };
}
