import type { SharedState } from "../../domain/admission/shared-state.ts";
import type { PrimaryRpcClient } from "./rpc-client.ts";
import { decodeHoldVerdict, decodeSpend, encodeHold } from "./rpc-protocol.ts";

/** The state that the primary process keeps for all workers, as each of them asks it. */
export function primarySharedState(primary: PrimaryRpcClient): SharedState {
  return {
    consumeRateWindow: ({ id, workspaceId }, limit) => primary.ask("window", [id, workspaceId, limit]),
    peekRateWindow: ({ id, workspaceId }, limit) => primary.ask("look", [id, workspaceId, limit]),
    bumpVersion: async (workspaceId) => {
      await primary.ask("touch", workspaceId);
    },
    hold: async (request) => decodeHoldVerdict(await primary.ask("hold", encodeHold(request))),
    settle: ({ requestId, workspaceId }, chargedNanos) =>
      primary.callEventually("settle", [requestId, workspaceId, String(chargedNanos)]),
    handOver: ({ requestId, workspaceId }) => primary.callEventually("leave", [requestId, workspaceId]),
    releaseHold: ({ requestId, workspaceId }) => primary.callEventually("giveBack", [requestId, workspaceId]),
    credit: (workspaceId, nanos, booking) =>
      primary.callEventually("credit", [workspaceId, String(nanos), booking ?? null]),
    announceBooking: async (id, workspaceId, createdAtMs) => {
      await primary.ask("intend", { id, workspaceId, createdAtMs });
    },
    withdraw: async ({ nanos, reserveNanos, ...taking }) => {
      const asked = { ...taking, nanos: String(nanos), reserveNanos: String(reserveNanos) };
      // The primary will take it, however late: who does not wait for that would not know what to give back.
      return BigInt(await primary.ask("take", asked, "endless"));
    },
    wallet: async (workspaceId) => {
      const [balanceNanos, heldNanos] = await primary.ask("wallet", workspaceId);
      return { balanceNanos: BigInt(balanceNanos), heldNanos: BigInt(heldNanos) };
    },
    restoreSpend: async (spends) => {
      const written = spends.map((spend) => ({ ...spend, nanos: String(spend.nanos) }));
      await primary.ask("restoreSpend", written);
    },
    spending: async ({ id, workspaceId }, atMs) => {
      const { day, month } = await primary.ask("spending", [id, workspaceId, atMs]);
      return { day: decodeSpend(day), month: decodeSpend(month) };
    },
    claimIdempotencyKey: async (use, requestId, run = "first") => {
      const verdict = await primary.ask("claim", [use, requestId]).catch(async (error: unknown) => {
        // The primary may still come to it, and then to this.
        if (run === "first") await primary.callEventually("release", [use.key, requestId]);
        throw error;
      });
      if (verdict.is !== "remembered") return verdict;
      return { is: "remembered", first: { ...verdict.first, nanos: BigInt(verdict.first.nanos) } };
    },
    recordKeyUse: (use) => primary.callEventually("remember", { ...use, nanos: String(use.nanos) }),
    releaseClaim: (key, requestId) => primary.callEventually("release", [key, requestId]),
    sweepHolds: (maxAgeMs) => primary.ask("sweep", maxAgeMs),
  };
}
