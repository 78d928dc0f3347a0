import { expect, test } from "vitest";
import { Proof } from "./proof.ts";

test("PORTAL-11 of two changes that wait for a proof both go on", async () => {
  const proof = new Proof();
  const both = [proof.ask(), proof.ask()];
  proof.end("again");
  expect(await Promise.all(both)).toEqual([undefined, undefined]);
});

test("PORTAL-11 both are given up together, and the next is asked anew", async () => {
  const proof = new Proof();
  const both = Promise.allSettled([proof.ask(), proof.ask()]);
  proof.end("giveUp");
  const cancelled = { status: "rejected", reason: { code: "cancelled", message: "Nothing was changed." } };
  expect(await both).toMatchObject([cancelled, cancelled]);
  const next = proof.ask();
  proof.end("again");
  await next;
});
