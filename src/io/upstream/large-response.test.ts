import fc from "fast-check";
import { expect, test } from "vitest";
import { patchMembers, scanMembers } from "../../kit/json.ts";
import { LargeResponse, readDocumentInSlices } from "./large-response.ts";
import { ResponseGuard } from "./response-guard.ts";

const CHARS = 400_000;
const whole = async (text: string) => {
  const guard = new ResponseGuard();
  const lease = guard.memory.open("w");
  const deps = { guard, workspaceId: "w", lease, form: {}, onRejected() {}, onDrained() {} };
  const response = new LargeResponse(deps);
  response.push(Buffer.from(text));
  const document = await response.finish();
  return { held: guard.memory.usedBytes, value: document?.value, lease };
};
const event = async (text: string) => {
  const guard = new ResponseGuard();
  const lease = guard.memory.open("w");
  const document = await readDocumentInSlices(text, { guard, workspaceId: "w", lease, form: {} });
  if ("is" in document) throw new Error(document.why);
  return { held: guard.memory.usedBytes, document };
};

test("SAFE-01 one character beyond Latin-1 doubles the memory of a whole text, as it does in V8", async () => {
  const plain = JSON.stringify({ text: "é".repeat(CHARS) });
  const wide = JSON.stringify({ text: `${"x".repeat(CHARS)}漢` });
  for (const read of [whole, event]) {
    expect((await read(plain)).held).toBeGreaterThanOrEqual(plain.length);
    expect((await read(plain)).held).toBeLessThan(1.1 * plain.length);
    expect((await read(wide)).held).toBeGreaterThanOrEqual(2 * wide.length);
    expect((await read(wide)).held).toBeLessThan(2.1 * wide.length);
  }
});

test("SAFE-01 a lease keeps what a decoded reply still needs and gives back the rest", async () => {
  const { lease, held } = await whole(JSON.stringify({ text: "x".repeat(CHARS) }));
  const memory = new ResponseGuard().memory;
  const own = memory.open("w");
  own.grow(held);
  own.keep(1000);
  expect(memory.usedBytes).toBe(1000);
  own.keep(2000);
  own.release();
  expect(memory.usedBytes).toBe(0);
  lease.release();
});

test("SAFE-01 a long object in an event is patched at the offsets that a search of its text would find", async () => {
  const key = fc.constantFrom("id", "output", "usage", "a b", "\u00e9", "\u6f22");
  const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant("y".repeat(20_000)));
  const member = fc.tuple(key, value);
  await fc.assert(
    fc.asyncProperty(fc.array(member, { maxLength: 5 }), fc.boolean(), async (members, isSpaced) => {
      const inner = { ...Object.fromEntries(members), pad: "z".repeat(20_000) };
      const text = JSON.stringify({ type: "t", response: inner, n: 1 }, undefined, isSpaced ? 2 : undefined);
      const { body } = (await event(text)).document;
      if ("problem" in body) throw new Error(body.problem);
      const nested = body.nested?.get("response");
      const searched = nested && scanMembers(nested.text);
      const patches = [
        { key: "id", json: '"own"' },
        { key: "usage", json: null },
      ];
      expect(nested && patchMembers(nested, patches)).toBe(searched && patchMembers(searched, patches));
      expect(nested?.value).toEqual(JSON.parse(JSON.stringify(inner)));
    }),
    { numRuns: 60 },
  );
});
