import { afterAll, beforeAll, expect, test } from "vitest";
import { type ManageFixture, openManageFixture } from "../../../../tests/support/manage-fixture.ts";
import { finishedRecord } from "../../../../tests/support/records.ts";
import { createIdGenerator } from "../../../kit/id-generator.ts";

let room: ManageFixture;
const params = { workspace: "lab" };
beforeAll(async () => {
  room = await openManageFixture();
  await room.ask("manageCreateWorkspace", { body: { slug: "lab" } });
});
afterAll(() => room.close());

const send = (id: string, body: unknown) => room.ask(id, { params, body });
const refusal = async (id: string, body: unknown) => {
  const { status, param } = await room.refusal(id, { params, body });
  return [status, param];
};

test("BILL-01 BILL-04 amounts and limits are at most 1,000,000,000, to the nano-unit", async () => {
  const [most, more] = ["1000000000", "1000000000.000000001"];
  const ways: readonly [string, object][] = [
    ["manageCreditWallet", {}],
    ["manageAdjustWallet", { direction: "down", reference: "a", reason: "r" }],
    ["manageGrantPromotion", { reference: "a", expires_at: "2030-01-01" }],
  ];
  for (const [id, said] of ways) {
    expect([id, ...(await refusal(id, { ...said, amount: more }))]).toEqual([id, 400, "amount"]);
    expect(await send(id, { ...said, amount: most })).toMatchObject({ repeated: false });
  }
  for (const period of ["day", "month"]) {
    expect(await refusal("managePutLimits", { [period]: more })).toEqual([400, period]);
    const set = await send("managePutLimits", { [period]: most });
    expect(set[period]).toMatchObject({ limit: "1000000000.00" });
  }
  expect(await refusal("managePutAlerts", { low_balance: more })).toEqual([400, "low_balance"]);
  expect(await send("managePutAlerts", { low_balance: most })).toMatchObject({ low_balance: "1000000000.00" });
});

test("BILL-01 promotional credit expires in the future and within ten years, to the millisecond", async () => {
  const id = "manageGrantPromotion";
  const until = (atMs: number, reference: string) => ({
    ...{ amount: "1", reference, expires_at: new Date(atMs).toISOString() },
  });
  const lastMs = room.nowMs() + 10 * 366 * 86_400_000;
  expect(await refusal(id, until(room.nowMs(), "now"))).toEqual([400, "expires_at"]);
  expect(await refusal(id, until(lastMs + 1, "late"))).toEqual([400, "expires_at"]);
  await send(id, until(lastMs, "last"));
  await send(id, until(room.nowMs() + 1, "first"));
  const states = async () => {
    const { data } = await room.ask("manageListPromotions", { params });
    const rows = Array.isArray(data) ? data : [];
    return ["first", "last"].map((name) => rows.find((row) => row.id.endsWith(`:${name}`))?.state);
  };
  expect(await states()).toEqual(["running", "running"]);
  room.wait(1);
  expect(await states()).toEqual(["ending", "running"]);
});

test("BILL-01 only top-ups are paid out, not promotions or adjustments", async () => {
  const given = { amount: "2", reference: "gift" };
  const booked = [
    await send("manageGrantPromotion", { ...given, expires_at: "2030-01-01" }),
    await send("manageAdjustWallet", { ...given, direction: "up", reason: "goodwill" }),
  ];
  await send("manageCreditWallet", { amount: "50" });
  for (const { id } of booked)
    expect(await refusal("manageRefund", { topup: id, reference: "x", reason: "r" })).toEqual([404, "topup"]);
});

test("BILL-02 a request that the log has expired can still be refunded, by the time in its id", async () => {
  const id = createIdGenerator(room.nowMs).next("chatcmpl-");
  const workspaceId = room.directory.workspace("lab")?.id ?? "";
  await room.store.ingest([finishedRecord(id, { workspaceId, createdAtMs: room.nowMs() })]);
  await room.store.log.sweep(room.nowMs() + 1, 1000);
  expect((await room.refusal("manageShowRequest", { params: { id } })).code).toBe("not_found");
  const body = { request: id, reference: "late", reason: "it was cut off" };
  expect(await send("manageRefund", body)).toMatchObject({ kind: "refund", amount: "0.0015", repeated: false });
});

test("BILL-01 a statement covers its month to the millisecond, and the next one opens with its closing balance", async () => {
  await room.ask("manageCreateWorkspace", { body: { slug: "monthly" } });
  const monthly = { params: { workspace: "monthly" } };
  room.wait(Date.UTC(2026, 11) - 1 - room.nowMs());
  await room.ask("manageCreditWallet", { ...monthly, body: { amount: "3" } });
  room.wait(1);
  await room.ask("manageCreditWallet", { ...monthly, body: { amount: "4" } });
  const balances = async (month: string) => {
    const shown = await room.ask("manageShowStatement", { ...monthly, query: `month=${month}` });
    return [shown["opening_balance"], shown["closing_balance"]];
  };
  expect(await balances("2026-10")).toEqual(["0.00", "0.00"]);
  expect(await balances("2026-11")).toEqual(["0.00", "3.00"]);
  expect(await balances("2026-12")).toEqual(["3.00", "7.00"]);
  expect(await balances("2027-01")).toEqual(["7.00", "7.00"]);
});
