import { isJsonObject, parseJsonText } from "../../kit/json.ts";

/** The field name, or escaped letters that may spell it. */
const MENTIONS_ZDR = /zdr|\\u00[4-7][0-9a-f]/i;
/** The same limit as for request bodies. */
const PARTS_MAX = 400_000;

/** Whether a body asks for zero data retention. An unreadable body that mentions the field counts as a yes. */
export function requestsZeroRetention(text: string): boolean {
  if (!MENTIONS_ZDR.test(text)) return false;
  const parsed = parseJsonText(text, { partsMax: PARTS_MAX });
  if ("problem" in parsed) return true;
  return Object.entries(parsed.value).some(([name, value]) =>
    name === "provider" ? isZdrRequested(value) : isProviderMember(name) && MENTIONS_ZDR.test(name),
  );
}

/** Forms write object members as `provider[zdr]`, which is not supported but still signals the intent. */
const isProviderMember = (name: string) => name.startsWith("provider[");

/** A form may repeat the field, or send truncated JSON. */
function isZdrRequested(provider: unknown): boolean {
  if (Array.isArray(provider)) return provider.some(isZdrRequested);
  if (typeof provider === "string") return provider.trimStart().startsWith("{") && MENTIONS_ZDR.test(provider);
  if (!isJsonObject(provider)) return false;
  const zdr = provider["zdr"];
  return zdr !== undefined && zdr !== null && zdr !== false;
}
