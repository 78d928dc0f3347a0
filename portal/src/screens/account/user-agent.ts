const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/Edg\//, "Edge"],
  [/Firefox\//, "Firefox"],
  [/Chrom(?:e|ium)\//, "Chrome"],
  [/Safari\//, "Safari"],
];
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/Android/, "Android"],
  [/iPhone|iPad/, "iOS"],
  [/Mac OS X/, "macOS"],
  [/Windows/, "Windows"],
  [/Linux/, "Linux"],
];

/** A rough name from the user agent, enough to recognise one's own devices. */
export function parseUserAgent(userAgent: string | null): { readonly name: string; readonly isTerminal: boolean } {
  if (userAgent === null || userAgent === "") return { name: "Unknown client", isTerminal: true };
  const find = (list: typeof BROWSERS) => list.find(([pattern]) => pattern.test(userAgent))?.[1];
  const browser = find(BROWSERS);
  if (browser === undefined) return { name: userAgent.slice(0, 60), isTerminal: true };
  const system = find(SYSTEMS);
  return { name: system === undefined ? browser : `${browser} on ${system}`, isTerminal: false };
}
