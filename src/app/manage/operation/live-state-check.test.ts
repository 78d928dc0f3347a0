import { expect, test } from "vitest";
import { plainWorkspace } from "../../../../tests/support/workspaces.ts";
import { Directory } from "../../../domain/tenancy/directory.ts";
import { liveChecks } from "./live-state-check.ts";

function walletCheck(liveNanos: () => bigint) {
  const directory = new Directory();
  directory.load({ workspaces: [plainWorkspace("ws_1")], members: [], keys: [], routers: [], tokens: [] });
  const unused = async () => {
    throw new Error("unexpected call");
  };
  const [wallets] = liveChecks({
    directory,
    clock: { nowMs: () => 1, monotonicMs: () => 1 },
    state: Object.assign(Object.create(null), {
      wallet: async () => ({ balanceNanos: liveNanos(), heldNanos: 0n }),
    }),
    store: {
      ledger: Object.assign(Object.create(null), {
        wallets: async () => [{ workspaceId: "ws_1", currency: "EUR", balanceNanos: 7n }],
      }),
      rollups: { spendSince: unused },
    },
    waitForIngest: async () => undefined,
  });
  return wallets;
}

test("BILL-01 wallets equal to the ledger are in order, others are named", async () => {
  expect(await walletCheck(() => 7n)?.run()).toEqual({
    ok: true,
    detail: "1 wallet compared with the ledger, no differences",
  });
  expect(await walletCheck(() => 8n)?.run()).toMatchObject({
    ok: false,
    detail: expect.stringMatching(/^the wallet of ws-1 is/),
  });
});

test("SCALE-23 a wallet that keeps changing is not reported as in order", async () => {
  let nanos = 0n;
  const result = await walletCheck(() => {
    nanos += 1n;
    return nanos;
  })?.run();
  expect(result).toMatchObject({ ok: true, warning: true });
  expect(result?.detail).toContain("1 not compared because they kept changing");
});
