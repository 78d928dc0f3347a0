import type { Switch } from "../contract/route.ts";
import { ROUTES } from "../contract/routes.ts";
import { SURFACES, type Surface } from "../domain/record/record.ts";
import { IpLimit } from "../edge/address-limit.ts";
import type { Managers } from "../edge/authenticate-manager.ts";
import { MinuteLimit } from "../edge/rate-limiter.ts";
import { Edge, type EdgeDeps, type KnownSecrets } from "../edge/server.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import type { Metrics } from "../io/telemetry/metrics.ts";
import type { OwnKeys } from "../io/upstream/own-keys.ts";
import type { PlatformConnections } from "../io/upstream/platform-connections.ts";
import { addressList } from "../kit/cidr.ts";
import { type Config, ConfigError } from "../settings/config.ts";
import { ARRIVING_MAX_MS } from "./bounds.ts";

const PATIENCE = { headersMs: 15_000, requestMs: ARRIVING_MAX_MS, checkEveryMs: 5_000 };

type EdgeParts = Pick<EdgeDeps, "clock" | "ids" | "directory" | "state" | "fleet"> &
  Pick<Managers, "adminToken" | "personOf"> & {
    config: Config;
    log: Logger;
    metrics: Metrics;
  };

/** Surfaces that this deployment does without. */
export function switchedOff(config: Pick<Config, "GATEWAY_DECISIONS" | "GATEWAY_SPEECH">): ReadonlySet<Switch> {
  const off = new Set<Switch>();
  if (config.GATEWAY_DECISIONS === "off") off.add("decisions");
  if (config.GATEWAY_SPEECH === "off") off.add("speech");
  return off;
}

/** Surfaces that models are listed with here. */
export function servedSurfaces(config: Config): readonly Surface[] {
  const off: ReadonlySet<Surface> = switchedOff(config);
  return SURFACES.filter((surface) => !off.has(surface));
}

export function openEdge({ config, log, metrics, adminToken, personOf, ...parts }: EdgeParts): Edge {
  const proxies = config.GATEWAY_TRUSTED_PROXIES;
  return new Edge({
    ...parts,
    routes: ROUTES,
    managers: {
      adminToken,
      tokens: parts.directory.tokens,
      publicUrl: config.GATEWAY_PUBLIC_URL,
      personOf,
    },
    ipLimit: new IpLimit(config.GATEWAY_RPM_IP, parts.clock),
    manageLimit: new MinuteLimit(config.GATEWAY_RPM_MANAGE, parts.clock),
    switchedOff: switchedOff(config),
    trustedProxies: proxies.length === 0 ? undefined : addressList(proxies),
    bodyLimits: { jsonMaxBytes: config.GATEWAY_BODY_MAX_BYTES, uploadMaxBytes: config.GATEWAY_UPLOAD_MAX_BYTES },
    cors: { origins: config.GATEWAY_CORS_ORIGINS },
    patience: {
      ...PATIENCE,
      stallMs: config.GATEWAY_CLIENT_STALL_MS,
      idleMs: config.GATEWAY_CONNECTION_IDLE_MS,
    },
    rpmDefaults: { live: config.GATEWAY_RPM_LIVE, test: config.GATEWAY_RPM_TEST },
    alarmed: ({ code, status, detail, message }, requestId) => {
      // Only a fault of the gateway itself is an error of its operator; the rest passes, or is a provider's; and a key
      // of a workspace's own that is refused is for its people to see, in their log.
      const isOwnKey = detail?.["ownKey"] !== undefined;
      const level = code === "internal_error" ? "error" : isOwnKey ? "debug" : "warn";
      log[level]({ requestId, code, status, detail }, message);
    },
    answered: (route, status, durationMs) => metrics.recordHttpResponse(route, status, durationMs),
  });
}

export function knownSecrets(platform: Pick<PlatformConnections, "secrets">, ownKeys: OwnKeys): KnownSecrets {
  return (workspaceId) =>
    workspaceId === undefined ? platform.secrets : [...platform.secrets, ...ownKeys.secretsOf(workspaceId)];
}

/** What to write instead, in place of the system's word for it. */
export function cannotListen(error: unknown, { HOST, PORT }: Config): unknown {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "EADDRINUSE")
    return new ConfigError([`PORT: ${PORT} on ${HOST} is in use by another program; stop it, or write another port`]);
  if (code === "EACCES") return new ConfigError([`PORT: this user may not open port ${PORT}; write one from 1024 on`]);
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || code === "EAI_AGAIN")
    return new ConfigError([`HOST: this machine has no address ${HOST}; write one of its own, such as 127.0.0.1`]);
  return error;
}
