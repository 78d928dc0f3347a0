import { scanMembers } from "../../../kit/json.ts";
import { stringEnd } from "../../../kit/json-strings.ts";

const QUOTE = 0x22;
const SPACE = 0x20;

/**
 * One text for all bodies that differ only in white space and in the order of their top-level members. Deeper members stay in
 * order, because models read schemas and tools as they were written. Undefined: not an object whose members can be told apart.
 */
export function canonicalBody(text: string, without: ReadonlySet<string> = new Set()): string | undefined {
  const body = scanMembers(text);
  if (body === undefined) return undefined;
  const members = body.members.spans
    .filter(({ key }) => !without.has(key))
    .map(({ key, valueStart, valueEnd }) => ({ key, json: withoutSpace(text.slice(valueStart, valueEnd)) }));
  members.sort((one, other) => (one.key < other.key ? -1 : 1));
  return `{${members.map(({ key, json }) => `${JSON.stringify(key)}:${json}`).join()}}`;
}

/** Numbers keep their digits: parsing would lose those beyond the precision of a number. */
function withoutSpace(json: string): string {
  let out = "";
  let from = 0;
  let at = 0;
  while (at < json.length) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = stringEnd(json, at + 1) + 1;
    else if (code > SPACE) at += 1;
    else {
      out += json.slice(from, at);
      while (json.charCodeAt(at) <= SPACE) at += 1;
      from = at;
    }
  }
  return out + json.slice(from);
}
