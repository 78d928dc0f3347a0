import { duplexPair } from "node:stream";
import { expect, test, vi } from "vitest";
import { PrimaryRpcClient } from "./rpc-client.ts";
import { primarySharedState } from "./state.ts";

function scene() {
  const [here, there] = duplexPair();
  let heard = "";
  there.on("data", (bytes: Buffer) => {
    heard += bytes;
  });
  /** What the primary was told, one by one: how many go in one line is for the worker to choose. */
  const said = (): unknown[] => {
    const lines = heard.split("\n").slice(0, -1);
    return lines.flatMap((line) => JSON.parse(line) as unknown[]);
  };
  let [nowMs, looks] = [0, 0];
  const monotonicMs = () => {
    looks += 1;
    return nowMs;
  };
  const primary = new PrimaryRpcClient(here, { nowMs: () => nowMs, monotonicMs });
  const passing = async (ms: number) => {
    [nowMs, looks] = [nowMs + ms, 0];
    await vi.waitFor(() => expect(looks).toBeGreaterThan(0));
  };
  /** For longer than an answer may take. */
  const silence = async () => {
    for (let look = 0; look < 3; look += 1) await passing(2_000);
  };
  return { primary, there, said, passing, silence };
}

test("SCALE-04 a worker that stood still takes the answers that wait for it; one that gets none gives up", async () => {
  const { primary, there, passing, silence } = scene();
  const answered = primary.ask("wallet", "ws");
  answered.catch(() => undefined);
  await passing(60_000);
  there.write('[[1,["5","0"]]]\n');
  expect(await answered).toEqual(["5", "0"]);
  const unanswered = expect(primary.ask("wallet", "ws")).rejects.toMatchObject({ code: "service_unavailable" });
  await silence();
  await unanswered;
});

test("SCALE-04 BILL-02 what a worker tells is said once and in order; nobody waits for a primary that has fallen silent", async () => {
  const { primary, there, said, silence } = scene();
  const first = primary.callEventually("release", ["k1", "r1"]);
  await silence();
  await first;
  await primary.callEventually("release", ["k2", "r2"]);
  const both = [
    [1, "release", ["k1", "r1"]],
    [2, "release", ["k2", "r2"]],
  ];
  await vi.waitFor(() => expect(said()).toEqual(both));
  there.write("[[1,null],[2,null]]\n");
  await vi.waitFor(async () => {
    const waited = primary.callEventually("release", ["k3", "r3"]);
    expect(await Promise.race([waited, Promise.resolve("waits")])).toBe("waits");
  });
});

test("SCALE-04 BILL-02 money that the primary takes late is told to who asked for it, and not lost between the two", async () => {
  const { primary, there, silence } = scene();
  const taking = { workspaceId: "ws", nanos: 5n, isAllOrNothing: true, reserveNanos: 0n } as const;
  const taken = primarySharedState(primary).withdraw(taking);
  taken.catch(() => undefined);
  await silence();
  there.write('[[1,"5"]]\n');
  expect(await taken).toBe(5n);
});

const claimOfK = [1, "claim", [{ key: "k", body: "b" }, "r"]];

test.each([
  ["first", [claimOfK, [2, "release", ["k", "r"]], [3, "touch", "ws"]]],
  ["again", [claimOfK, [2, "touch", "ws"]]],
] as const)(
  "SCALE-04 BILL-09 RESP-05 a claim that the primary does not answer is given up where the request cannot have it from before: %s",
  async (run, expected) => {
    const { primary, said, silence } = scene();
    const state = primarySharedState(primary);
    const claimed = expect(state.claimIdempotencyKey({ key: "k", body: "b" }, "r", run)).rejects.toMatchObject({
      code: "service_unavailable",
    });
    await silence();
    await claimed;
    state.bumpVersion("ws").catch(() => undefined);
    await vi.waitFor(() => expect(said()).toEqual(expected));
  },
);
