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
export function rateLimitBucket(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = "", tail = ""] = address.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === "" ? [] : tail.split(":");
  const full = address.includes("::")
    ? [...left, ...Array<string>(8 - left.length - right.length).fill("0"), ...right]
    : left;
  return `${full.slice(0, 4).join(":")}::/64`;
}

/** True when the text is an address or a CIDR block; a zone belongs to one machine's wires and to no list. */
export function isCidr(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  const family = isIP(address);
  if (family === 0 || rest.length > 0 || address.includes("%")) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

/** One list for each family: a shared one would match every IPv4 address by `::/0`, through its mapped form. */
export function addressList(entries: readonly string[]): AddressList {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const entry of entries) {
    const { address, bits, family } = parseCidr(entry);
    lists[family].addSubnet(address, bits, family);
  }
  return {
    has(address) {
      const version = isIP(address);
      if (version === 0) return false;
      const family = version === 4 ? "ipv4" : "ipv6";
      return lists[family].check(address, family);
    },
  };
}

const MAPPED_BITS = 96;

/** A block of mapped addresses is the IPv4 block it maps, because callers are compared in that form. */
function parseCidr(entry: string): { address: string; bits: number; family: "ipv4" | "ipv6" } {
  const [address = "", text] = entry.split("/");
  if (isIP(address) === 4) return { address, bits: Number(text ?? 32), family: "ipv4" };
  const bits = Number(text ?? 128);
  const canonical = canonicalAddress(address) ?? address;
  if (isIP(canonical) === 4 && bits >= MAPPED_BITS)
    return { address: canonical, bits: bits - MAPPED_BITS, family: "ipv4" };
  return { address, bits, family: "ipv6" };
}
