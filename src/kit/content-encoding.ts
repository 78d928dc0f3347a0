export type ContentEncoding = "br" | "gzip" | "identity";

/** In order of preference where the client has none. */
const PREFERENCE = ["br", "gzip", "identity"] as const;

/** Without a quality of its own, `identity` is acceptable, but any named encoding is better (RFC 9110, 12.5.3). */
const IDENTITY_DEFAULT_QUALITY = 0.0001;

/** The best encoding that an `Accept-Encoding` header accepts; `identity` if it accepts none that the gateway has. */
export function negotiateEncoding(header: string | string[] | undefined): ContentEncoding {
  const qualities = parseQualities(String(header ?? ""));
  const quality = (encoding: ContentEncoding) =>
    qualities.get(encoding) ?? qualities.get("*") ?? (encoding === "identity" ? IDENTITY_DEFAULT_QUALITY : 0);
  let best: ContentEncoding = "identity";
  for (const encoding of PREFERENCE.toReversed()) if (quality(encoding) >= quality(best)) best = encoding;
  return quality(best) > 0 ? best : "identity";
}

function parseQualities(header: string): ReadonlyMap<string, number> {
  const qualities = new Map<string, number>();
  for (const part of header.toLowerCase().split(",")) {
    const [name = "", ...parameters] = part.split(";").map((text) => text.trim());
    if (name === "") continue;
    const weight = parameters.find((parameter) => /^q\s*=/.test(parameter));
    qualities.set(name === "x-gzip" ? "gzip" : name, weight === undefined ? 1 : parseWeight(weight));
  }
  return qualities;
}

/** An invalid weight counts as zero: an encoding the client did not clearly accept is not sent. */
function parseWeight(parameter: string): number {
  const value = parameter.slice(parameter.indexOf("=") + 1).trim();
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(value) ? Number(value) : 0;
}
