import path from "node:path";
import type { Accounts } from "../app/accounts/accounts.ts";
import type { Handler } from "../app/exchange.ts";
import type { ManageDeps, MutationLock } from "../app/manage/deps.ts";
import { guardRoutes } from "../app/manage/guard.ts";
import { manageHandlers } from "../app/manage/handlers.ts";
import { paymentHandlers } from "../app/manage/money/payments.ts";
import type { GatewayDeps } from "../app/pipeline/gateway-deps.ts";
import { connectionsFor, snapshotFor } from "../app/pipeline/workspace-resources.ts";
import type { ResponsesRoom } from "../app/responses/responses-context.ts";
import { catalogueHandlers } from "../app/surfaces/catalogue.ts";
import { chatHandlers } from "../app/surfaces/chat.ts";
import { countHandlers } from "../app/surfaces/count-tokens.ts";
import { decisionsHandlers } from "../app/surfaces/decisions.ts";
import { documentHandlers } from "../app/surfaces/documents.ts";
import { embeddingsHandlers } from "../app/surfaces/embeddings.ts";
import { messagesHandlers } from "../app/surfaces/messages.ts";
import { modelHandlers } from "../app/surfaces/models.ts";
import { operationsHandlers } from "../app/surfaces/operations.ts";
import { responsesHandlers } from "../app/surfaces/responses.ts";
import { speechHandlers } from "../app/surfaces/speech.ts";
import { storedResponseHandlers } from "../app/surfaces/stored-responses.ts";
import { validateHandler } from "../app/surfaces/validate-key.ts";
import { apiDocumentText, llmsText, manageDocumentText } from "../contract/documents.ts";
import { PEOPLE_ROUTES } from "../contract/routes/people.ts";
import type { ProofLookup } from "../domain/catalogue/proofs.ts";
import type { Surface } from "../domain/record/record.ts";
import { excludedByPolicy, permitsModel } from "../domain/routing/policy.ts";
import { isOperator } from "../edge/authenticate.ts";
import type { Edge } from "../edge/server.ts";
import type { Metrics } from "../io/telemetry/metrics.ts";
import type { WorkerContext } from "../io/workers/worker-context.ts";
import { PROJECT_ROOT } from "../settings/config.ts";

/** What people and operators call, and payment providers. */
export function managementHandlers(deps: ManageDeps, people: Accounts, inTurn: MutationLock): Record<string, Handler> {
  const ofPeople = { ...people.openHandlers, ...guardRoutes(deps, PEOPLE_ROUTES, people.managedHandlers) };
  const room = { ...deps, inTurn };
  return { ...manageHandlers(room), ...paymentHandlers(room), ...ofPeople };
}

type Operated = { readonly metrics: Metrics; readonly joined: WorkerContext | undefined; readonly adminToken: string };

export function operationsOf(edge: Edge, standing: { ready: boolean }, { metrics, joined, adminToken }: Operated) {
  return operationsHandlers({
    unready: async () => (edge.door.draining ? "it is draining" : standing.ready ? undefined : "it is starting"),
    async metricsText() {
      const own = await metrics.render();
      return joined === undefined ? own : { ...own, body: await joined.allMetrics() };
    },
    isOperator: (authorization) => isOperator(authorization, adminToken),
  });
}

export function documentsAt(place: { readonly version: string; readonly serverUrl: string }): Record<string, Handler> {
  return documentHandlers({
    apiDocument: () => apiDocumentText(place),
    manageDocument: () => manageDocumentText(place),
    llmsText: () => llmsText(place),
    publicUrl: place.serverUrl,
    portalFolder: path.join(PROJECT_ROOT, "portal/dist"),
  });
}

/** What callers with a key, and anyone who reads the catalogue, can ask. */
export function surfaceHandlers(
  gateway: GatewayDeps,
  responses: ResponsesRoom,
  proofs: ProofLookup,
  served: readonly Surface[],
): Record<string, Handler> {
  const { snapshot, clock, margins } = gateway;
  const nowMs = () => clock.nowMs();
  return {
    ...chatHandlers(gateway),
    ...responsesHandlers(responses),
    ...storedResponseHandlers(responses),
    ...messagesHandlers(gateway),
    ...countHandlers(gateway),
    ...embeddingsHandlers(gateway),
    ...decisionsHandlers(gateway),
    ...speechHandlers(gateway),
    ...catalogueHandlers({ snapshot, nowMs, margin: margins.defaultMargin }),
    ...modelHandlers({
      snapshotOf: (workspaceId) => snapshotFor(gateway, workspaceId),
      connectionsOf: (workspaceId) => connectionsFor(gateway, workspaceId),
      proofs,
      nowMs,
      marginOf: (workspaceId) => margins.marginFor(workspaceId),
      allows: (endpoint, policy) => excludedByPolicy(endpoint, policy) === undefined,
      permits: permitsModel,
      servedSurfaces: served,
    }),
    validateKey: validateHandler,
  };
}
