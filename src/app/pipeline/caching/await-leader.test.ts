import { expect, test } from "vitest";
import { SlotLeaders } from "../../../domain/response-cache/slot-leaders.ts";
import { memoryCoordinationStore } from "../../../io/workers/memory-coordination-store.ts";
import { systemClock } from "../../../kit/clock.ts";
import { systemTimers } from "../../../kit/timers.ts";
import { ClientDisconnected, type ResponseSink } from "../../exchange.ts";
import { awaitLeader, type EndLead } from "./await-leader.ts";

const SLOT = { workspaceId: "ws_1", key: "k" };
const gateway = { timers: systemTimers, limits: { requestTimeoutMs: 60_000 } } as Parameters<
  typeof awaitLeader
>[0]["gateway"];

/** Two processes that share the locks of one store, and what was written to it. */
function twoProcesses() {
  const peers = memoryCoordinationStore(systemClock, systemTimers);
  const written: string[] = [];
  const request = (leaders: SlotLeaders) => {
    let disconnect = () => {};
    const onDisconnect = (listener: () => void) => {
      disconnect = listener;
    };
    const sink = { onDisconnect } as unknown as ResponseSink;
    const serve = async () => written.length > 0;
    return { result: awaitLeader({ gateway, cache: { leaders }, slot: SLOT, sink, serve }), leave: () => disconnect() };
  };
  const process = () => new SlotLeaders(peers.acquireLock.bind(peers));
  return { written, request, processes: [process(), process()] as const };
}

const lead = async (result: ReturnType<typeof awaitLeader>): Promise<EndLead> => {
  const got = await result;
  if (typeof got !== "function") throw new Error(`it does not lead: ${got}`);
  return got;
};

test("CACHE-01 a request of another process waits until the reply is in the store, and is served by it", async () => {
  const { written, request, processes } = twoProcesses();
  const end = await lead(request(processes[0]).result);
  const other = request(processes[1]);
  const { promise: writing, resolve: finishWriting } = Promise.withResolvers<void>();
  end("kept", writing);
  written.push("reply");
  finishWriting();
  expect(await other.result).toBe("served");
  expect(processes[1].current(SLOT)).toBeUndefined();
});

test("CACHE-01 when the leader of another process fails, the waiting request leads next", async () => {
  const { request, processes } = twoProcesses();
  const end = await lead(request(processes[0]).result);
  const other = request(processes[1]);
  end("failed", Promise.resolve());
  (await lead(other.result))("failed", Promise.resolve());
});

test("CACHE-01 a request that disconnects while it waits holds up nobody behind it", async () => {
  const { request, processes } = twoProcesses();
  const end = await lead(request(processes[0]).result);
  const leaving = request(processes[1]);
  const behind = request(processes[1]);
  leaving.leave();
  await expect(leaving.result).rejects.toBeInstanceOf(ClientDisconnected);
  end("failed", Promise.resolve());
  (await lead(behind.result))("failed", Promise.resolve());
});
