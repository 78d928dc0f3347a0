import type { ManageContext } from "../app/manage/deps.ts";
import { decodeChat } from "../app/pipeline/decode.ts";
import { managedResponses } from "../app/responses/end-work.ts";
import { decodeMessage } from "../app/surfaces/messages.ts";
import { decodeResponse } from "../app/surfaces/responses.ts";
import { systemClock } from "../kit/clock.ts";
import { systemTimers } from "../kit/timers.ts";
import { lazyStoredSecret } from "./accounts.ts";
import { doctorChecks } from "./doctor-checks.ts";
import { effectiveSettings } from "./effective-settings.ts";
import type { GatewayComponents, GatewayInput } from "./gateway-components.ts";
import { responseCacheAdmin } from "./response-cache.ts";

type ManageBootstrapDeps = Pick<
  GatewayComponents,
  | "tenancy"
  | "mutationLock"
  | "storage"
  | "providers"
  | "responses"
  | "providerKeys"
  | "customClasses"
  | "rateUpdater"
  | "prober"
  | "captures"
  | "alerts"
  | "journal"
  | "gateway"
  | "money"
  | "nodes"
  | "coordination"
  | "overload"
  | "disk"
  | "logExport"
  | "operatorEvents"
  | "responseCache"
>;

/** Everything that the management API uses. */
export function createManageContext({ config, version }: GatewayInput, deps: ManageBootstrapDeps): ManageContext {
  const { tenancy, mutationLock, storage, providers, responses, providerKeys, rateUpdater, captures, alerts } = deps;
  const { directory } = tenancy;
  const { journal, gateway, money, nodes, coordination, overload, disk, logExport, operatorEvents } = deps;
  const { store, rotation } = storage;
  const { prober } = deps.prober;
  return {
    ...tenancy,
    store,
    mutationLock,
    connections: providers.connections,
    responses: managedResponses(responses),
    responseCache: responseCacheAdmin(config, store, deps.responseCache),
    ownKeys: providerKeys,
    customClasses: deps.customClasses,
    rates: rateUpdater,
    prober,
    captureStore: captures.captureStore,
    playgroundSecret: lazyStoredSecret("playground", store.meta, storage.vault),
    alerts,
    waitForIngest: journal.ingestBarrier.soon,
    planning: gateway,
    endpoints: gateway,
    payments: money.payments,
    nodes: {
      registry: nodes,
      max: config.GATEWAY_NODES_MAX,
      instance: coordination.fleet.id,
      agentVersion: version,
    },
    masterKey: { rotation, timers: systemTimers },
    timers: systemTimers,
    usersMayCreateWorkspaces: config.GATEWAY_SIGNUP === "open",
    responseRetention: config.GATEWAY_RESPONSES_RETENTION,
    effectiveSettings: effectiveSettings(config, version, systemClock.nowMs()),
    decoders: {
      chat: decodeChat,
      messages: (bytes) => decodeMessage(bytes, { headers: {} }),
      responses: decodeResponse,
    },
    checks: doctorChecks(config, {
      store,
      journal: journal.pipeline,
      overload,
      disk,
      rotation,
      alerts,
      prober,
      nodes,
      directory,
      coordination,
      logExport,
      operatorEvents,
    }),
  };
}
