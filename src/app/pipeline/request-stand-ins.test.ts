import { expect, test } from "vitest";
import { EMAIL } from "../../domain/data-classes/kinds.ts";
import { atOnce } from "../../kit/in-turns.ts";
import { conversationOf, standInsFor } from "./request-stand-ins.ts";

const ORIGIN = { key: Buffer.from("key"), conversation: "c" };

test("CLASS-03 a conversation stays the same when cache markers move and texts become parts", () => {
  const first = "Write to jane.doe@mail.example.eu";
  const later = { role: "user", content: "And now?" };
  const of = (content: unknown, more: readonly object[] = []) =>
    conversationOf({ messages: [{ role: "system", content: "x" }, { role: "user", content }, ...more] }, undefined);
  const part = { type: "text", text: first };
  const one = of(first);
  expect(of([part])).toBe(one);
  expect(of([{ ...part, cache_control: { type: "ephemeral", ttl: "1h" } }], [later])).toBe(one);
  expect(of(`${first}!`)).not.toBe(one);
  expect(of([part, { type: "text", text: "and more" }])).not.toBe(one);
  expect(conversationOf({ messages: [] }, "s1")).not.toBe(conversationOf({ messages: [] }, "s2"));
});

test("CLASS-03 more findings than can be imitated in time get names, each its own", () => {
  const found = new Map(Array.from({ length: 10_001 }, (_, at) => [`person${at}@mail.example.eu`, EMAIL]));
  const { originals } = atOnce(standInsFor(found, [], ORIGIN));
  expect(originals.size).toBe(10_001);
  expect([...originals.keys()].every((standIn) => /^\[EMAIL_[a-z0-9]{6}\]$/.test(standIn))).toBe(true);
});

test("CLASS-03 a stand-in that the request contains, also as a name, is not used", () => {
  const found = new Map([["jane.doe@mail.example.eu", EMAIL]]);
  const [first = ""] = [...atOnce(standInsFor(found, [], ORIGIN)).originals.keys()];
  const [other] = [...atOnce(standInsFor(found, [`not ${first}!`], ORIGIN)).originals.keys()];
  expect(other).not.toBe(first);
  expect(other).toMatch(/@example\./);
});
