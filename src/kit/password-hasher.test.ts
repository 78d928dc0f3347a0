import { argon2Sync } from "node:crypto";
import { expect, test } from "vitest";
import { HASH_COST, HashingBusyError, passwordHasher } from "./password-hasher.ts";

const CHEAP = { memoryKib: 64, passes: 1, lanes: 1 };

test("PORTAL-01 passwords are kept as argon2id at OWASP's cost, each with its own salt, and only the right one fits", async () => {
  expect(HASH_COST).toEqual({ memoryKib: 19_456, passes: 2, lanes: 1 });
  const hasher = passwordHasher();
  const [hash, other] = await Promise.all([hasher.hash("three green bicycles"), hasher.hash("three green bicycles")]);
  expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  expect(hash).not.toBe(other);
  expect(await hasher.verify("three green bicycles", hash)).toBe(true);
  expect(await hasher.verify("three green bicycle", hash)).toBe(false);
  expect(await hasher.verify("three green bicycles", "$2b$10$something")).toBe(false);
});

test("the form is the usual one: what others made is read, at whatever cost it was made", async () => {
  const salt = Buffer.from("0123456789abcdef");
  const tag = argon2Sync("argon2id", {
    message: "caf\u00e9",
    nonce: salt,
    parallelism: 2,
    tagLength: 24,
    memory: 64,
    passes: 3,
  });
  const text = (bytes: Buffer) => bytes.toString("base64").replace(/=+$/, "");
  const hash = `$argon2id$v=19$m=64,t=3,p=2$${text(salt)}$${text(tag)}`;
  expect(await passwordHasher().verify("caf\u00e9", hash)).toBe(true);
  // However the keyboard wrote it.
  expect(await passwordHasher().verify("cafe\u0301", hash)).toBe(true);
});

test("PORTAL-11 so many are hashed at once and so many wait; one more is sent away", async () => {
  const hasher = passwordHasher(CHEAP);
  const all = await Promise.allSettled(Array.from({ length: 70 }, () => hasher.hash("x")));
  const refused = all.filter(({ status }) => status === "rejected");
  expect(refused.length).toBe(4);
  for (const one of refused) expect(one).toMatchObject({ reason: expect.any(HashingBusyError) });
  expect(await hasher.hash("x")).toContain("$argon2id$");
});
