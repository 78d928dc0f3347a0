import { isJsonObject, parseJsonText } from "../../kit/json.ts";

/** The name of the wish, or letters that are written as numbers and may be it. */
const HINT = /zdr|\\u00[4-7][0-9a-f]/i;
/** A body that is refused for being larger than this is not taken apart here either. */
const PARTS_MAX = 400_000;

/** Whether a body demands that nothing of it is kept. One that names the wish and cannot be read is taken to do so. */
export function requestsZeroRetention(text: string): boolean {
  if (!HINT.test(text)) return false;
  const parsed = parseJsonText(text, { partsMax: PARTS_MAX });
  if ("problem" in parsed) return true;
  return Object.entries(parsed.value).some(([name, value]) =>
    name === "provider" ? isZdrRequested(value) : isProviderMember(name) && HINT.test(name),
  );
}

/** As forms name the members of an object, which this one is not taken in. */
const isProviderMember = (name: string) => name.startsWith("provider[");

/** In a form it may be given twice, or be a text that begins as an object and is none. */
function isZdrRequested(provider: unknown): boolean {
  if (Array.isArray(provider)) return provider.some(isZdrRequested);
  if (typeof provider === "string") return provider.trimStart().startsWith("{") && HINT.test(provider);
  if (!isJsonObject(provider)) return false;
  const said = provider["zdr"];
  return said !== undefined && said !== null && said !== false;
}
