import type { Check } from "../app/manage/deps.ts";
import { type EndpointProof, Prober } from "../app/prober/prober.ts";
import type { CatalogueSnapshot, ProviderConnections } from "../domain/catalogue/catalogue.ts";
import { ProofRegistry } from "../domain/catalogue/proof-registry.ts";
import { isFailureDemo, PROVEN_SURFACES, type ProvenSurface, proofSubject } from "../domain/catalogue/proofs.ts";
import type { Fleet } from "../domain/fleet/fleet.ts";
import type { Store } from "../io/store/sql/store.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import type { Metrics } from "../io/telemetry/metrics.ts";
import type { Transport } from "../io/upstream/transport.ts";
import { systemClock } from "../kit/clock.ts";
import type { IdGenerator } from "../kit/id-generator.ts";
import { pluralize } from "../kit/pluralize.ts";
import { parseDurationMs } from "../kit/time.ts";
import { systemTimers } from "../kit/timers.ts";
import type { Config } from "../settings/config.ts";
import { disabledSurfaces } from "./listener.ts";

const PROBE_TIMEOUT_MS = 60_000;

/** Probes request short responses. */
const PROBE_RESPONSE_MAX_BYTES = 4 * 1024 * 1024;

export function createProofRegistry(
  config: Config,
  snapshot: () => CatalogueSnapshot,
  connections: ProviderConnections,
): ProofRegistry {
  const rules = { maxAgeMs: proofMaxAgeMs(config), failuresMax: config.GATEWAY_PROOF_FAILURES };
  return new ProofRegistry(rules, {
    subjectOf: (endpoint, surface) => proofSubject(endpoint, surface, connections),
    isExempt: (endpoint) => isFailureDemo(endpoint, snapshot()),
  });
}

type ProberBootstrapDeps = {
  readonly proofs: ProofRegistry;
  readonly snapshot: () => CatalogueSnapshot;
  readonly connections: ProviderConnections;
  readonly transport: Transport;
  readonly ids: IdGenerator;
  readonly fleet: Pick<Fleet, "isLeader">;
  readonly metrics: Metrics;
  readonly log: Logger;
};

/** Loads stored proofs and starts proving the sandbox; `sandboxProven` resolves when that is done. */
export async function openProber(config: Config, store: Store, deps: ProberBootstrapDeps) {
  const { metrics, log, proofs, snapshot, connections, transport, ids } = deps;
  const maxAgeMs = proofMaxAgeMs(config);
  const prober = new Prober({
    proofs,
    snapshot,
    connections,
    transport,
    ids,
    store: store.proofs,
    clock: systemClock,
    timers: systemTimers,
    isLeader: () => deps.fleet.isLeader,
    surfaces: provenSurfaces(config),
    everyMs: parseDurationMs(config.GATEWAY_PROOF_EVERY) ?? null,
    maxAgeMs,
    // A valid proof is never deleted.
    keepMs: Math.max(maxAgeMs, parseDurationMs(config.GATEWAY_PROOF_RETENTION) ?? 0),
    timeoutMs: PROBE_TIMEOUT_MS,
    responseMaxBytes: PROBE_RESPONSE_MAX_BYTES,
    onProof: (proof, { endpoint, surface }) => {
      metrics.recordProof(proof, endpoint.provider);
      const lacksImages = proof.withoutImages === true;
      if (proof.result === "proven" && !lacksImages) return;
      // Logged as a warning on the first failure and when the endpoint is disabled; repetitions are debug.
      const standing = proofs.status(endpoint, surface);
      const failures = (lacksImages ? standing?.images : standing)?.failures ?? 1;
      const isTransition = failures === 1 || failures === config.GATEWAY_PROOF_FAILURES;
      const detail = { endpoint: endpoint.id, surface, failures, reason: proof.reason };
      const level = isTransition ? "warn" : "debug";
      if (lacksImages) log[level](detail, "prober: endpoint proven without images");
      else log[level](detail, "prober: endpoint failed its proof");
    },
    warn: (detail, message) => log.warn(detail, message),
  });
  await prober.load();
  metrics.registerUnprovenGauge(() => prober.all().filter(({ proven }) => !proven).length);
  return { prober, sandboxProven: prober.proveSandbox() };
}

function proofMaxAgeMs(config: Config): number {
  return parseDurationMs(config.GATEWAY_PROOF_MAX_AGE) ?? 0;
}

/** Disabled surfaces are not probed: probes cost money. */
function provenSurfaces(config: Config): readonly ProvenSurface[] {
  const disabled = disabledSurfaces(config);
  return PROVEN_SURFACES.filter((surface) => !disabled.has(surface));
}

const SHOWN_MAX = 20;

/** Advice only: unproven endpoints are not used, all others are. */
export function proofCheck(prober: Pick<Prober, "all">): Check {
  return {
    name: "proofs",
    run: async () => {
      const all = prober.all();
      const unproven = all.filter(({ proven }) => !proven);
      const withoutImages = all.filter(({ proven, images }) => proven && images === false);
      const total = pluralize(all.length, "connected endpoint");
      if (unproven.length + withoutImages.length === 0) return { ok: true, detail: `${total}, all proven` };
      const parts = [
        unproven.length === 0
          ? `${total}, all proven`
          : `${unproven.length} of ${total} not proven, and not used on that surface: ${listEndpoints(unproven)}`,
        ...(withoutImages.length === 0
          ? []
          : [`${withoutImages.length} proven without images, and used without them: ${listEndpoints(withoutImages)}`]),
      ];
      return { ok: true, warning: true, detail: `${parts.join(". ")}. \`gateway probe\` probes them now.` };
    },
  };
}

function listEndpoints(proofs: readonly EndpointProof[]): string {
  return proofs
    .slice(0, SHOWN_MAX)
    .map(({ endpoint, surface, status }) => `${endpoint.id} on ${surface} (${status?.last.reason ?? "not probed yet"})`)
    .join(", ");
}
