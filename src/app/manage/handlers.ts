import type { Handler } from "../exchange.ts";
import { alertHandlers } from "./alerts.ts";
import { captureHandlers } from "./captures.ts";
import { type ManageDeps, makeTurns, type Room } from "./deps.ts";
import { evidenceHandlers } from "./evidence.ts";
import { explainHandlers } from "./explain.ts";
import { keyHandlers } from "./key-handlers.ts";
import { limitHandlers } from "./limits.ts";
import { logHandlers } from "./log.ts";
import { marginHandlers } from "./margins.ts";
import { masterKeyHandlers } from "./master-key.ts";
import { memberHandlers } from "./members.ts";
import { operationHandlers } from "./operation.ts";
import { ownKeyHandlers } from "./own-keys.ts";
import { policyHandlers } from "./policies.ts";
import { proofHandlers } from "./proofs.ts";
import { rateHandlers } from "./rates.ts";
import { replayHandlers } from "./replay.ts";
import { responseHandlers } from "./responses.ts";
import { routerHandlers } from "./routers.ts";
import { walletChangeHandlers } from "./wallet-changes.ts";
import { walletOrderHandlers } from "./wallet-orders.ts";
import { walletReadingHandlers } from "./wallet-reading.ts";
import { walletHandlers } from "./wallets.ts";
import { workspaceHandlers } from "./workspaces.ts";

/** Every management route by its id. */
export function manageHandlers(deps: ManageDeps): Record<string, Handler> {
  const room: Room = { ...deps, inTurn: makeTurns() };
  return {
    ...workspaceHandlers(room),
    ...memberHandlers(room),
    ...keyHandlers(room),
    ...policyHandlers(room),
    ...routerHandlers(room),
    ...explainHandlers(room),
    ...replayHandlers(room),
    ...walletHandlers(room),
    ...walletChangeHandlers(room),
    ...walletOrderHandlers(room),
    ...walletReadingHandlers(room),
    ...limitHandlers(room),
    ...rateHandlers(room),
    ...marginHandlers(room),
    ...alertHandlers(room),
    ...logHandlers(room),
    ...responseHandlers(room),
    ...captureHandlers(room),
    ...evidenceHandlers(room),
    ...ownKeyHandlers(room),
    ...proofHandlers(room),
    ...masterKeyHandlers(room.masterKey),
    ...operationHandlers(room),
  };
}
