import { expect, test } from "vitest";
import { PendingReauthentication } from "./pending-reauthentication.ts";

test("PORTAL-11 one confirmation continues all waiting mutations", async () => {
  const pending = new PendingReauthentication();
  const both = [pending.request(), pending.request()];
  pending.finish("confirm");
  expect(await Promise.all(both)).toEqual([undefined, undefined]);
});

test("PORTAL-11 cancelling rejects all waiting mutations, and the next one opens a new dialog", async () => {
  const pending = new PendingReauthentication();
  const both = Promise.allSettled([pending.request(), pending.request()]);
  pending.finish("cancel");
  const cancelled = { status: "rejected", reason: { code: "cancelled", message: "Nothing was changed." } };
  expect(await both).toMatchObject([cancelled, cancelled]);
  const next = pending.request();
  pending.finish("confirm");
  await next;
});
