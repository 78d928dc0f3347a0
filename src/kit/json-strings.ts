/** Of the string that begins here, the quote behind it; the end of the text if there is none. */
export function stringEnd(json: string, from: number): number {
  for (let at = json.indexOf('"', from); at >= 0; at = json.indexOf('"', at + 1)) {
    let slashes = 0;
    while (json.charCodeAt(at - 1 - slashes) === 0x5c) slashes++;
    if (slashes % 2 === 0) return at;
  }
  return json.length;
}

/** Whether an object of a JSON text, at any depth, has two members of one name: its parsed value has only the last one. */
export function hasRepeatedMembers(json: string, value: unknown): boolean {
  return membersIn(json) !== membersOf(value);
}

function membersIn(json: string): number {
  let count = 0;
  for (let at = json.indexOf('"'); at >= 0; ) {
    let behind = stringEnd(json, at + 1) + 1;
    while (json.charCodeAt(behind) <= 0x20) behind++;
    if (json[behind] === ":") count++;
    at = json.indexOf('"', behind);
  }
  return count;
}

function membersOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  let count = Array.isArray(value) ? 0 : members.length;
  for (const member of members) count += membersOf(member);
  return count;
}
