import type { SharedState } from "../../domain/admission/admission.ts";
import type { Primary } from "./primary.ts";
import { holdVerdict, holdWire, spendState } from "./protocol.ts";

/** The state that the primary process keeps for all workers, as each of them asks it. */
export function stateOfPrimary(primary: Primary): SharedState {
  return {
    window: ({ id, workspaceId }, limit) => primary.ask("window", [id, workspaceId, limit]),
    look: ({ id, workspaceId }, limit) => primary.ask("look", [id, workspaceId, limit]),
    touch: async (workspaceId) => {
      await primary.ask("touch", workspaceId);
    },
    hold: async (request) => holdVerdict(await primary.ask("hold", holdWire(request))),
    settle: async ({ requestId, workspaceId }, chargedNanos) => {
      await primary.ask("settle", [requestId, workspaceId, String(chargedNanos)]);
    },
    leave: async ({ requestId, workspaceId }) => {
      await primary.ask("leave", [requestId, workspaceId]);
    },
    giveBack: async ({ requestId, workspaceId }) => {
      await primary.ask("giveBack", [requestId, workspaceId]);
    },
    credit: async (workspaceId, nanos, booking) => {
      await primary.ask("credit", [workspaceId, String(nanos), booking ?? null]);
    },
    intend: async (id, workspaceId, createdAtMs) => {
      await primary.ask("intend", { id, workspaceId, createdAtMs });
    },
    take: async ({ nanos, leavingNanos, ...taking }) =>
      BigInt(await primary.ask("take", { ...taking, nanos: String(nanos), leavingNanos: String(leavingNanos) })),
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
      return { day: spendState(day), month: spendState(month) };
    },
    claim: async (use, requestId) => {
      const verdict = await primary.ask("claim", [use, requestId]);
      if (verdict.is !== "remembered") return verdict;
      return { is: "remembered", first: { ...verdict.first, nanos: BigInt(verdict.first.nanos) } };
    },
    remember: async (use) => {
      await primary.ask("remember", { ...use, nanos: String(use.nanos) });
    },
    release: async (key, requestId) => {
      await primary.ask("release", [key, requestId]);
    },
    sweep: (maxAgeMs) => primary.ask("sweep", maxAgeMs),
  };
}
