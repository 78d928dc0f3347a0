import { expect, test } from "vitest";
import { plainWorkspace } from "../../../../tests/support/workspaces.ts";
import { fault } from "../../../contract/faults.ts";
import { memoryState } from "../../../io/state/memory-state.ts";
import { systemClock } from "../../../kit/clock.ts";
import { walletViewAfterPosting } from "./wallets.ts";

const WORKSPACE = plainWorkspace("ws_1");

/** A live state that does not answer so many times. */
async function stateAway(times: number) {
  const state = memoryState(systemClock);
  await state.credit("ws_1", 5_000_000_000n);
  let asked = 0;
  const wallet: typeof state.wallet = async (workspaceId) => {
    asked += 1;
    if (asked <= times) throw fault("service_unavailable", { message: "It cannot be admitted. Try again." });
    return state.wallet(workspaceId);
  };
  return { ...state, wallet };
}

test("BILL-02 SCALE-03 a posted credit is reported as posted, even if the live state is briefly unavailable", async () => {
  const view = await walletViewAfterPosting({ state: await stateAway(2), clock: systemClock }, WORKSPACE, {
    id: "credit_1",
  });
  expect(view).toEqual({ balance: "5.00", held: "0.00", currency: "EUR" });
  // Where it stays away nobody is told to send it again.
  let nowMs = 0;
  const clock = { nowMs: () => nowMs, monotonicMs: () => (nowMs += 4_000) };
  const away = walletViewAfterPosting({ state: await stateAway(1000), clock }, WORKSPACE, { id: "credit_1" });
  await expect(away).rejects.toMatchObject({
    code: "service_unavailable",
    message: expect.stringContaining("The transaction credit_1 was posted"),
    headers: { "x-should-retry": "false" },
  });
});
