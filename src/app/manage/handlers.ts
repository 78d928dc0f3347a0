import { MANAGE_ROUTES } from "../../contract/routes/manage.ts";
import type { Handler } from "../exchange.ts";
import type { ManageContext } from "./deps.ts";
import { guardRoutes } from "./guard.ts";
import { limitHandlers } from "./money/limits.ts";
import { marginHandlers } from "./money/margins.ts";
import { rateHandlers } from "./money/rates.ts";
import { walletChangeHandlers } from "./money/wallet-changes.ts";
import { walletEntryHandlers } from "./money/wallet-entries.ts";
import { walletOrderHandlers } from "./money/wallet-orders.ts";
import { walletHandlers } from "./money/wallets.ts";
import { alertHandlers } from "./operation/alerts.ts";
import { settingHandlers } from "./operation/effective-settings.ts";
import { endpointHandlers } from "./operation/endpoints.ts";
import { masterKeyHandlers } from "./operation/master-key.ts";
import { measurementHandlers } from "./operation/measurements.ts";
import { nodeHandlers } from "./operation/nodes.ts";
import { operationHandlers } from "./operation/operation.ts";
import { ownKeyHandlers } from "./operation/own-keys.ts";
import { platformKeyHandlers } from "./operation/platform-keys.ts";
import { proofHandlers } from "./operation/proofs.ts";
import { cacheHandlers } from "./records/cache.ts";
import { captureHandlers } from "./records/captures.ts";
import { evidenceHandlers } from "./records/evidence.ts";
import { logHandlers } from "./records/log.ts";
import { responseHandlers } from "./records/responses.ts";
import { explainHandlers } from "./routing/explain.ts";
import { policyPreviewHandlers } from "./routing/policy-preview.ts";
import { replayHandlers } from "./routing/replay.ts";
import { routerHandlers } from "./routing/routers.ts";
import { dataClassHandlers } from "./tenancy/data-classes.ts";
import { keyHandlers } from "./tenancy/key-handlers.ts";
import { memberHandlers } from "./tenancy/members.ts";
import { playgroundKeyHandlers } from "./tenancy/playground-keys.ts";
import { policyHandlers } from "./tenancy/policies.ts";
import { policyVersionHandlers } from "./tenancy/policy-versions.ts";
import { summaryHandlers } from "./tenancy/summaries.ts";
import { tokenHandlers } from "./tenancy/tokens.ts";
import { workspaceHandlers } from "./tenancy/workspaces.ts";

/** Every management route by its id, behind the one guard. */
export function manageHandlers(context: ManageContext): Record<string, Handler> {
  return guardRoutes(context, MANAGE_ROUTES, {
    ...workspaceHandlers(context),
    ...memberHandlers(context),
    ...keyHandlers(context),
    ...playgroundKeyHandlers(context),
    ...policyHandlers(context),
    ...dataClassHandlers(context),
    ...policyPreviewHandlers(context),
    ...policyVersionHandlers(context),
    ...routerHandlers(context),
    ...explainHandlers(context),
    ...replayHandlers(context),
    ...walletHandlers(context),
    ...walletChangeHandlers(context),
    ...walletOrderHandlers(context),
    ...walletEntryHandlers(context),
    ...limitHandlers(context),
    ...rateHandlers(context),
    ...marginHandlers(context),
    ...alertHandlers(context),
    ...logHandlers(context),
    ...responseHandlers(context),
    ...cacheHandlers(context),
    ...captureHandlers(context),
    ...evidenceHandlers(context),
    ...ownKeyHandlers(context),
    ...platformKeyHandlers(context),
    ...nodeHandlers(context),
    ...proofHandlers(context),
    ...masterKeyHandlers(context.masterKey),
    ...operationHandlers(context),
    ...tokenHandlers(context),
    ...endpointHandlers(context),
    ...measurementHandlers(context),
    ...settingHandlers(context),
    ...summaryHandlers(context),
  });
}
