import type { SlicedWork } from "./event-loop-turns.ts";
import { isJsonObject, type JsonObject, MemberIndex, type MemberSpan, type ParsedBody } from "./json.ts";
import { BuiltJsonDocument } from "./json-document.ts";
import { buildJsonInSlices } from "./json-sliced-build.ts";
import type { JsonStructureScanner } from "./json-structure.ts";

/** The document of a scanned text, built in slices of event-loop turns. */
export async function buildDocumentInSlices(
  text: string,
  scanner: JsonStructureScanner,
  work: SlicedWork,
  parse?: (text: string) => unknown,
): Promise<BuiltJsonDocument> {
  const spans: MemberSpan[] = [];
  const nested = new Map<string, MemberSpan[]>();
  try {
    const value = await buildJsonInSlices(text, scanner, work, { parse, spans, nested });
    return documentOf(text, value, spans, nested);
  } catch (error) {
    return new BuiltJsonDocument(text, { value: undefined, body: { problem: messageOf(error) } });
  }
}

function documentOf(
  text: string,
  value: unknown,
  spans: readonly MemberSpan[],
  nested: ReadonlyMap<string, readonly MemberSpan[]>,
): BuiltJsonDocument {
  if (!isJsonObject(value)) return new BuiltJsonDocument(text, { value, body: { problem: "it is not an object" } });
  if (Object.keys(value).length !== spans.length)
    return new BuiltJsonDocument(text, { value, body: { problem: "a top-level key occurs twice" } });
  const members = new MemberIndex(spans);
  const body = { value, text, members, end: text.lastIndexOf("}"), nested: nestedBodies(text, value, members, nested) };
  return new BuiltJsonDocument(text, { value, body });
}

/** Those without duplicate keys, with offsets in their own text. */
function nestedBodies(
  text: string,
  value: JsonObject,
  members: MemberIndex,
  nested: ReadonlyMap<string, readonly MemberSpan[]>,
): ReadonlyMap<string, ParsedBody> {
  const bodies = new Map<string, ParsedBody>();
  for (const [key, spans] of nested) {
    const inner = value[key];
    const whole = members.get(key);
    if (whole === undefined || !isJsonObject(inner) || Object.keys(inner).length !== spans.length) continue;
    const { valueStart: start, valueEnd } = whole;
    const own = spans.map((span) => ({
      key: span.key,
      keyStart: span.keyStart - start,
      valueStart: span.valueStart - start,
      valueEnd: span.valueEnd - start,
    }));
    const body = { value: inner, text: text.slice(start, valueEnd), members: new MemberIndex(own) };
    bodies.set(key, { ...body, end: valueEnd - start - 1 });
  }
  return bodies;
}

const messageOf = (error: unknown) => (error instanceof SyntaxError ? "it is not valid JSON" : String(error));
