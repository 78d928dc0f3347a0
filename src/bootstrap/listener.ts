import type { Switch } from "../contract/route.ts";
import { ROUTES } from "../contract/routes.ts";
import { SURFACES, type Surface } from "../contract/surfaces.ts";
import type { EdgeDeps, KnownSecrets } from "../edge/edge-deps.ts";
import { EdgeServer } from "../edge/edge-server.ts";
import { OperatorTokenVerifier } from "../edge/operator-token-verifier.ts";
import { AddressRateLimiter } from "../edge/request-router.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import type { Metrics } from "../io/telemetry/metrics.ts";
import type { OperatorEvents } from "../io/telemetry/operator-events.ts";
import type { OwnKeys } from "../io/upstream/own-keys.ts";
import type { PlatformConnections } from "../io/upstream/platform-connections.ts";
import { addressList } from "../kit/cidr.ts";
import { RateLimiter } from "../kit/rate-limiter.ts";
import { parseDurationMs } from "../kit/time.ts";
import type { Config } from "../settings/config.ts";
import { REQUEST_READ_TIMEOUT_MS } from "./overload-protection.ts";
import { explainListenFailure } from "./start-failure.ts";

const REQUEST_TIMEOUTS = { headersMs: 15_000, requestMs: REQUEST_READ_TIMEOUT_MS, checkEveryMs: 5_000 };

type EdgeBootstrapDeps = Pick<EdgeDeps, "clock" | "ids" | "directory" | "state" | "fleet"> & {
  readonly operatorTokens: OperatorTokenVerifier;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly operatorEvents: Pick<OperatorEvents, "recordUntrustedForward">;
};

/** Boundaries, headers and fields of a form, beside its file. */
const FORM_OVERHEAD_BYTES = 1024 * 1024;

const REQUEST_FAILED = "edge: request failed";

/** Surfaces that are disabled by settings. */
export function disabledSurfaces(
  config: Pick<
    Config,
    | "GATEWAY_DECISIONS"
    | "GATEWAY_SPEECH"
    | "GATEWAY_GEMINI"
    | "GATEWAY_RERANK"
    | "GATEWAY_MODERATIONS"
    | "GATEWAY_IMAGES"
    | "GATEWAY_BATCHES"
  >,
): ReadonlySet<Switch> {
  const disabled = new Set<Switch>();
  if (config.GATEWAY_DECISIONS === "off") disabled.add("decisions");
  if (config.GATEWAY_SPEECH === "off") disabled.add("speech");
  if (config.GATEWAY_GEMINI === "off") disabled.add("gemini");
  if (config.GATEWAY_RERANK === "off") disabled.add("rerank");
  if (config.GATEWAY_MODERATIONS === "off") disabled.add("moderations");
  if (config.GATEWAY_IMAGES === "off") disabled.add("images");
  if (config.GATEWAY_BATCHES === "off") disabled.add("batches");
  return disabled;
}

export function enabledSurfaces(config: Config): readonly Surface[] {
  const disabled: ReadonlySet<string> = disabledSurfaces(config);
  return SURFACES.filter((surface) => !disabled.has(surface));
}

type OperatorTokenDeps = Pick<EdgeBootstrapDeps, "clock" | "log" | "metrics"> & { readonly adminToken: string };

export function createOperatorTokenVerifier(
  config: Config,
  { adminToken, clock, log, metrics }: OperatorTokenDeps,
): OperatorTokenVerifier {
  const windowMs = parseDurationMs(config.GATEWAY_ADMIN_TOKEN_WINDOW) ?? 0;
  return new OperatorTokenVerifier(
    { adminToken, tries: config.GATEWAY_ADMIN_TOKEN_TRIES, windowMs },
    clock,
    (rejection) => {
      metrics.recordTokenRejection(rejection.is);
      if (rejection.is === "throttled" && rejection.isNew)
        log.warn({ address: rejection.address }, "operator-token: address throttled after wrong tokens");
    },
  );
}

export function createEdge(config: Config, deps: EdgeBootstrapDeps): EdgeServer {
  const { clock, ids, directory, state, fleet, operatorTokens, log, metrics, operatorEvents } = deps;
  const proxies = config.GATEWAY_TRUSTED_PROXIES;
  return new EdgeServer({
    clock,
    ids,
    directory,
    state,
    fleet,
    routes: ROUTES,
    managerAuth: {
      operatorTokens,
      tokens: directory.tokens,
      publicUrl: config.GATEWAY_PUBLIC_URL,
    },
    addressLimit: new AddressRateLimiter(config.GATEWAY_RPM_IP, clock),
    managerLimit: new RateLimiter(config.GATEWAY_RPM_MANAGE, clock),
    switchedOff: disabledSurfaces(config),
    trustedProxies: proxies.length === 0 ? undefined : addressList(proxies),
    onUntrustedForward: (peer) => operatorEvents.recordUntrustedForward(peer),
    bodyLimits: {
      jsonMaxBytes: config.GATEWAY_BODY_MAX_BYTES,
      uploadMaxBytes: config.GATEWAY_UPLOAD_MAX_BYTES,
      fileMaxBytes: config.GATEWAY_FILE_MAX_BYTES + FORM_OVERHEAD_BYTES,
    },
    webSockets: { perKeyMax: config.GATEWAY_WEBSOCKETS_PER_KEY, idleMs: config.GATEWAY_WEBSOCKET_IDLE_MS },
    cors: { origins: config.GATEWAY_CORS_ORIGINS },
    timeouts: {
      ...REQUEST_TIMEOUTS,
      stallMs: config.GATEWAY_CLIENT_STALL_MS,
      idleMs: config.GATEWAY_CONNECTION_IDLE_MS,
    },
    rpmDefaults: { live: config.GATEWAY_RPM_LIVE, test: config.GATEWAY_RPM_TEST },
    onServerFault: ({ code, status, detail, message }, requestId) => {
      // Only an internal error needs the operator; a rejected key of a workspace is shown in its own request log.
      const isOwnKey = detail?.["ownKey"] !== undefined;
      const level = code === "internal_error" ? "error" : isOwnKey ? "debug" : "warn";
      log[level]({ requestId, code, status, detail, message }, REQUEST_FAILED);
    },
    metrics,
  });
}

/** Credentials that must not appear in responses, by workspace. */
export function knownSecrets(platform: Pick<PlatformConnections, "secrets">, ownKeys: OwnKeys): KnownSecrets {
  return (workspaceId) =>
    workspaceId === undefined ? platform.secrets : [...platform.secrets, ...ownKeys.secretsOf(workspaceId)];
}

/** Binds the port; `expectedOrigin` is where other workers of this gateway already listen. */
export async function listen({ listener }: EdgeServer, config: Config, expectedOrigin?: string): Promise<string> {
  try {
    const origin = await listener.listen(config.HOST, config.PORT);
    if (expectedOrigin === undefined || origin === expectedOrigin) return origin;
    // PORT is 0 and no other worker listens any more, so the system chose a new port: bind the announced one.
    await listener.unlisten();
    return await listener.listen(config.HOST, Number(new URL(expectedOrigin).port));
  } catch (error) {
    throw explainListenFailure(error, config);
  }
}
