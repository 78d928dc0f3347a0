import type { SharedState } from "../../domain/admission/shared-state.ts";
import type { CoordinationStore } from "../../domain/fleet/coordination-store.ts";
import { boardOfPrimary } from "./board.ts";
import type { Primary } from "./primary.ts";
import { PROTOCOL, type Welcome } from "./protocol.ts";
import { stateOfPrimary } from "./state.ts";

/** What a worker is given by the primary process. */
export type Joined = Welcome & {
  readonly state: SharedState;
  readonly board: CoordinationStore;
  /** The metrics of all workers as one text. */
  allMetrics(): Promise<string>;
};

export async function join(primary: Primary): Promise<Joined> {
  const welcome = await primary.ask("hello", { protocol: PROTOCOL });
  return {
    ...welcome,
    state: stateOfPrimary(primary),
    board: boardOfPrimary(primary),
    allMetrics: () => primary.ask("metrics", null),
  };
}
