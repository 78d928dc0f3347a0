import { duplexPair } from "node:stream";
import { expect, test } from "vitest";
import { eventually } from "../../../tests/support/eventually.ts";
import { PrimaryRpcClient } from "./rpc-client.ts";
import { primarySharedState } from "./worker-context.ts";

function connect() {
  const [here, there] = duplexPair();
  let received = "";
  there.on("data", (bytes: Buffer) => {
    received += bytes;
  });
  const frames = (): unknown[] => {
    const lines = received.split("\n").slice(0, -1);
    return lines.flatMap((line) => JSON.parse(line) as unknown[]);
  };
  let [nowMs, checks] = [0, 0];
  const monotonicMs = () => {
    checks += 1;
    return nowMs;
  };
  const primary = new PrimaryRpcClient(here, { nowMs: () => nowMs, monotonicMs });
  const advance = async (ms: number) => {
    [nowMs, checks] = [nowMs + ms, 0];
    await eventually(() => expect(checks).toBeGreaterThan(0));
  };
  /** Longer than the timeout of a call. */
  const exceedTimeout = async () => {
    for (let check = 0; check < 3; check += 1) await advance(2_000);
  };
  return { primary, there, frames, advance, exceedTimeout };
}

test.concurrent("SCALE-04 after a stall a worker reads waiting responses first; without one the call times out", async ({
  expect,
}) => {
  const { primary, there, advance, exceedTimeout } = connect();
  const answered = primary.call("wallet", "ws");
  answered.catch(() => undefined);
  await advance(60_000);
  there.write('[[1,["5","0"]]]\n');
  expect(await answered).toEqual(["5", "0"]);
  const unanswered = expect(primary.call("wallet", "ws")).rejects.toMatchObject({ code: "service_unavailable" });
  await exceedTimeout();
  await unanswered;
});

test.concurrent("SCALE-04 BILL-02 eventual calls are sent once and in order, and do not wait for an unresponsive primary", async () => {
  const { primary, there, frames, exceedTimeout } = connect();
  const first = primary.callEventually("releaseClaim", ["k1", "r1"]);
  await exceedTimeout();
  await first;
  await primary.callEventually("releaseClaim", ["k2", "r2"]);
  const both = [
    [1, "releaseClaim", ["k1", "r1"]],
    [2, "releaseClaim", ["k2", "r2"]],
  ];
  await eventually(() => expect(frames()).toEqual(both));
  there.write("[[1,null],[2,null]]\n");
  await eventually(async () => {
    const waited = primary.callEventually("releaseClaim", ["k3", "r3"]);
    expect(await Promise.race([waited, Promise.resolve("waits")])).toBe("waits");
  });
});

test.concurrent("SCALE-04 BILL-02 a late withdrawal by the primary still reaches its caller, so no money is lost", async () => {
  const { primary, there, exceedTimeout } = connect();
  const withdrawal = { workspaceId: "ws", nanos: 5n, isAllOrNothing: true, reserveNanos: 0n } as const;
  const withdrawn = primarySharedState(primary).withdraw(withdrawal);
  withdrawn.catch(() => undefined);
  await exceedTimeout();
  there.write('[[1,"5"]]\n');
  expect(await withdrawn).toBe(5n);
});

const claimOfK = [1, "claimIdempotencyKey", [{ key: "k", body: "b" }, "r"]];

test.concurrent.for([
  ["first", [claimOfK, [2, "releaseClaim", ["k", "r"]], [3, "bumpVersion", "ws"]]],
  ["again", [claimOfK, [2, "bumpVersion", "ws"]]],
] as const)(
  "SCALE-04 BILL-09 RESP-05 a timed-out claim is released unless an earlier run of the request may have it: %s",
  async ([run, expected], { expect }) => {
    const { primary, frames, exceedTimeout } = connect();
    const state = primarySharedState(primary);
    const claimed = expect(state.claimIdempotencyKey({ key: "k", body: "b" }, "r", run)).rejects.toMatchObject({
      code: "service_unavailable",
    });
    await exceedTimeout();
    await claimed;
    state.bumpVersion("ws").catch(() => undefined);
    await eventually(() => expect(frames()).toEqual(expected));
  },
);
