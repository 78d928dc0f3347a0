import { BlockList, isIP } from "node:net";

/** Matches canonical addresses against addresses and CIDR blocks. */
export type AddressList = { has(address: string): boolean };

/** IPv4-mapped IPv6 becomes IPv4, zones are removed; undefined for an invalid address. */
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

/** Rate limits count an IPv4 address, or the /64 of an IPv6 address. */
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

/** True for an address or a CIDR block without a zone. */
export function isCidr(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  const family = isIP(address);
  if (family === 0 || rest.length > 0 || address.includes("%")) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

/** One list for each family: in a shared one `::/0` would match every IPv4 address through its mapped form. */
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

/** A block of IPv4-mapped addresses becomes the IPv4 block, because addresses are compared in canonical form. */
function parseCidr(entry: string): { address: string; bits: number; family: "ipv4" | "ipv6" } {
  const [address = "", text] = entry.split("/");
  if (isIP(address) === 4) return { address, bits: Number(text ?? 32), family: "ipv4" };
  const bits = Number(text ?? 128);
  const canonical = canonicalAddress(address) ?? address;
  if (isIP(canonical) === 4 && bits >= MAPPED_BITS)
    return { address: canonical, bits: bits - MAPPED_BITS, family: "ipv4" };
  return { address, bits, family: "ipv6" };
}
