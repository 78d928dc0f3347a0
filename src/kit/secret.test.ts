import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { redactSecrets, seal, sealTextSteps, unseal, unsealTextSteps } from "./secret.ts";
import { runAtOnce, STEP_MAX } from "./work-steps.ts";

const key = Buffer.alloc(32, 7);
const plain = Buffer.from("confidential text");

test("what is sealed opens with the same key and the same words about it, and with nothing else", () => {
  const sealed = seal(key, plain, "ws_1 response");
  expect(unseal(key, sealed, "ws_1 response")).toEqual(plain);
  expect(unseal(randomBytes(32), sealed, "ws_1 response")).toBeUndefined();
  expect(unseal(key, sealed, "ws_2 response")).toBeUndefined();
  expect(sealed.includes(plain)).toBe(false);
  expect(unseal(key, seal(key, Buffer.alloc(0), ""), "")).toEqual(Buffer.alloc(0));
});

test("a single changed bit, a cut or another version does not open", () => {
  const sealed = seal(key, plain, "about");
  for (let at = 0; at < sealed.length; at += 1) {
    const changed = Buffer.from(sealed);
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
    expect(unseal(key, changed, "about"), `byte ${at}`).toBeUndefined();
    expect(unseal(key, sealed.subarray(0, at), "about"), `${at} bytes`).toBeUndefined();
  }
});

test("SAFE-01 a long text is sealed in steps, opens in steps as it was, and not if a bit of it was changed", () => {
  const text = "😀é".repeat(20_000);
  const works: number[] = [];
  const steps = sealTextSteps(key, text, "about");
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) works.push(step.value.chars);
  const sealed = step.value;
  expect(works.length).toBeGreaterThan(3);
  // Four bytes take two characters.
  expect(Math.max(...works)).toBeLessThanOrEqual(3 * STEP_MAX.chars);
  expect(runAtOnce(unsealTextSteps(key, sealed, "about"))).toBe(text);
  sealed.writeUInt8(sealed.readUInt8(50_000) ^ 1, 50_000);
  expect(runAtOnce(unsealTextSteps(key, sealed, "about"))).toBeUndefined();
});

test("the same text is never sealed the same twice", () => {
  expect(seal(key, plain, "about")).not.toEqual(seal(key, plain, "about"));
});

test("ERR-06 of two secrets of which one is a part of the other nothing stays, whichever comes first", () => {
  const secrets = ["key-12345", "key-12345-and-its-tail", "its-tail", "short"];
  for (const known of [secrets, secrets.toReversed()])
    expect(redactSecrets("key-12345-and-its-tail, short, key-12345", known)).toBe("[redacted], short, [redacted]");
});
