import path from "node:path";
import type { Accounts } from "../app/accounts/accounts.ts";
import { fontFaces } from "../app/brand.ts";
import type { Handler } from "../app/exchange.ts";
import type { ManageContext } from "../app/manage/deps.ts";
import { guardRoutes } from "../app/manage/guard.ts";
import { manageHandlers } from "../app/manage/handlers.ts";
import { paymentHandlers } from "../app/manage/money/payments.ts";
import type { GatewayDeps } from "../app/pipeline/gateway-deps.ts";
import type { ResponsesContext } from "../app/responses/responses-context.ts";
import { statusHandlers } from "../app/status/status-handlers.ts";
import type { StatusReport } from "../app/status/status-report.ts";
import { catalogueHandlers } from "../app/surfaces/catalogue.ts";
import { chatHandlers } from "../app/surfaces/chat.ts";
import { decisionsHandlers } from "../app/surfaces/decisions.ts";
import { documentHandlers } from "../app/surfaces/documents.ts";
import { embeddingsHandlers } from "../app/surfaces/embeddings.ts";
import { geminiHandlers } from "../app/surfaces/gemini.ts";
import { geminiEmbeddingHandlers } from "../app/surfaces/gemini-embeddings.ts";
import { geminiModelHandlers } from "../app/surfaces/gemini-models.ts";
import { imagesHandlers } from "../app/surfaces/images.ts";
import { countHandlers, messagesHandlers } from "../app/surfaces/messages.ts";
import { modelHandlers } from "../app/surfaces/models.ts";
import { moderationsHandlers } from "../app/surfaces/moderations.ts";
import { nodeAgentHandlers } from "../app/surfaces/node-agent-file.ts";
import { operationsHandlers } from "../app/surfaces/operations.ts";
import { rerankHandlers } from "../app/surfaces/rerank.ts";
import { responsesHandlers } from "../app/surfaces/responses.ts";
import { speechHandlers } from "../app/surfaces/speech.ts";
import { storedResponseHandlers } from "../app/surfaces/stored-responses.ts";
import { transcriptionHandlers } from "../app/surfaces/transcriptions.ts";
import { validateHandler } from "../app/surfaces/validate-key.ts";
import { apiDocumentText, llmsText, manageDocumentText } from "../contract/documents.ts";
import { PEOPLE_ROUTES } from "../contract/routes/people.ts";
import type { ProofLookup } from "../domain/catalogue/proofs.ts";
import type { Surface } from "../domain/record/record.ts";
import type { EdgeServer } from "../edge/edge-server.ts";
import type { OperatorTokenVerifier } from "../edge/operator-token-verifier.ts";
import type { Metrics } from "../io/telemetry/metrics.ts";
import type { UploadReader } from "../io/uploads/upload-reader.ts";
import type { WorkerContext } from "../io/workers/worker-context.ts";
import { PROJECT_ROOT } from "../settings/config.ts";
import { type CatalogueCallers, callerCatalogue } from "./caller-catalogue.ts";
import { createModelDeps } from "./model-deps.ts";
import { findNodeAgent } from "./node-agent-file.ts";

/** The management API, payment webhooks and accounts. */
export function managementHandlers(context: ManageContext, accounts: Accounts): Record<string, Handler> {
  return {
    ...manageHandlers(context),
    ...paymentHandlers(context),
    ...accounts.openHandlers,
    ...guardRoutes(context, PEOPLE_ROUTES, accounts.managedHandlers),
  };
}

/** `isReady` is false until all components are ready. */
export type Readiness = { isReady: boolean };

type OperationsBootstrapDeps = {
  readonly edge: EdgeServer;
  readonly readiness: Readonly<Readiness>;
  readonly metrics: Metrics;
  readonly worker: WorkerContext | undefined;
  readonly operatorTokens: OperatorTokenVerifier;
};

/** Health, readiness and metrics. */
export function probeHandlers({ edge, readiness, metrics, worker, operatorTokens }: OperationsBootstrapDeps) {
  return operationsHandlers({
    unready: async () =>
      edge.listener.isDraining ? "it is draining" : readiness.isReady ? undefined : "it is starting",
    async metricsText() {
      const own = await metrics.render();
      return worker === undefined ? own : { ...own, body: await worker.allMetrics() };
    },
    isOperator({ headers: { authorization }, clientAddress }) {
      const isRight = operatorTokens.verify(authorization, clientAddress);
      if (!isRight && authorization !== undefined) operatorTokens.reject(clientAddress, authorization);
      return isRight;
    },
  });
}

const PORTAL_FOLDER = path.join(PROJECT_ROOT, "portal/dist");

/** The status page and its JSON; without a report they respond with not_found. */
export const publicStatusHandlers = (report: StatusReport | undefined): Record<string, Handler> =>
  statusHandlers(report, fontFaces(PORTAL_FOLDER));

export function generatedDocumentHandlers(server: {
  readonly version: string;
  readonly serverUrl: string;
}): Record<string, Handler> {
  const documents = documentHandlers({
    apiDocument: () => apiDocumentText(server),
    manageDocument: () => manageDocumentText(server),
    llmsText: (guides) => llmsText(server, guides),
    publicUrl: server.serverUrl,
    portalFolder: PORTAL_FOLDER,
  });
  return { ...documents, ...nodeAgentHandlers(findNodeAgent) };
}

/** The public API: inference surfaces, models and catalogue. */
export function surfaceHandlers(
  gateway: GatewayDeps,
  responses: ResponsesContext,
  { proofs, uploads }: { readonly proofs: ProofLookup; readonly uploads: UploadReader },
  enabled: readonly Surface[],
  callers: CatalogueCallers,
): Record<string, Handler> {
  const { catalogue, clock, margins } = gateway;
  const nowMs = () => clock.nowMs();
  const models = createModelDeps(gateway, proofs, enabled);
  return {
    ...chatHandlers(gateway),
    ...responsesHandlers(responses),
    ...storedResponseHandlers(responses),
    ...geminiHandlers(gateway),
    ...geminiEmbeddingHandlers(gateway),
    ...messagesHandlers(gateway),
    ...countHandlers(gateway),
    ...embeddingsHandlers(gateway),
    ...rerankHandlers(gateway),
    ...moderationsHandlers(gateway, models),
    ...imagesHandlers(gateway, uploads, models),
    ...transcriptionHandlers(gateway, uploads),
    ...decisionsHandlers(gateway),
    ...speechHandlers(gateway),
    ...catalogueHandlers({
      snapshot: () => catalogue.snapshot,
      nowMs,
      margin: margins.defaultMargin,
      callerCatalogue: callerCatalogue(callers, gateway, proofs, enabled),
    }),
    ...modelHandlers(models),
    ...geminiModelHandlers(models),
    validateKey: validateHandler,
  };
}
