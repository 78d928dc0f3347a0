import type { SharedState } from "../../domain/admission/shared-state.ts";
import type { CoordinationStore } from "../../domain/fleet/coordination-store.ts";
import { primaryCoordinationStore } from "./board.ts";
import type { PrimaryRpcClient } from "./rpc-client.ts";
import { RPC_PROTOCOL_VERSION, type WorkerAssignment } from "./rpc-protocol.ts";
import { primarySharedState } from "./state.ts";

/** What a worker is given by the primary process. */
export type WorkerContext = WorkerAssignment & {
  readonly state: SharedState;
  readonly board: CoordinationStore;
  /** The metrics of all workers as one text. */
  allMetrics(): Promise<string>;
};

export async function joinPrimary(primary: PrimaryRpcClient): Promise<WorkerContext> {
  const welcome = await primary.ask("hello", { protocol: RPC_PROTOCOL_VERSION });
  return {
    ...welcome,
    state: primarySharedState(primary),
    board: primaryCoordinationStore(primary),
    allMetrics: () => primary.ask("metrics", null),
  };
}
