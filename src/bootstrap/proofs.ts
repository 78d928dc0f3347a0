import type { Check } from "../app/manage/deps.ts";
import { type EndpointProof, Prober } from "../app/prober/prober.ts";
import type { CatalogueSnapshot, ProviderConnections } from "../domain/catalogue/catalogue.ts";
import {
  isFailureDemo,
  PROVEN_SURFACES,
  ProofRegistry,
  type ProvenSurface,
  proofSubject,
} from "../domain/catalogue/proofs.ts";
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
import { switchedOff } from "./edge.ts";

/** How long an endpoint may take for one answer of its proof. */
const ANSWER_MS_MAX = 60_000;

/** Short answers are asked for: what is longer is none. */
const ANSWER_MAX_BYTES = 4 * 1024 * 1024;

export function proofBookOf(
  config: Config,
  snapshot: () => CatalogueSnapshot,
  connections: ProviderConnections,
): ProofRegistry {
  const rules = { maxAgeMs: maxAgeOf(config), failuresMax: config.GATEWAY_PROOF_FAILURES };
  return new ProofRegistry(rules, {
    subjectOf: (endpoint, surface) => proofSubject(endpoint, surface, connections),
    isExempt: (endpoint) => isFailureDemo(endpoint, snapshot()),
  });
}

type ProberDeps = {
  readonly proofs: ProofRegistry;
  readonly snapshot: () => CatalogueSnapshot;
  readonly connections: ProviderConnections;
  readonly transport: Transport;
  readonly ids: IdGenerator;
  readonly fleet: Pick<Fleet, "isLeader">;
  readonly metrics: Metrics;
  readonly log: Logger;
};

/** The prober, with what earlier processes proved. Simulated providers are being proven when this resolves. */
export async function openProber(config: Config, store: Store, deps: ProberDeps) {
  const { metrics, log, proofs: proofs, snapshot, connections, transport, ids } = deps;
  const maxAgeMs = maxAgeOf(config);
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
    surfaces: surfacesOf(config),
    everyMs: parseDurationMs(config.GATEWAY_PROOF_EVERY) ?? null,
    maxAgeMs,
    // A proof that still holds is never taken for too old.
    keepMs: Math.max(maxAgeMs, parseDurationMs(config.GATEWAY_PROOF_RETENTION) ?? 0),
    timeoutMs: ANSWER_MS_MAX,
    answerMaxBytes: ANSWER_MAX_BYTES,
    onProof: (proof, { endpoint, surface }) => {
      metrics.recordProof(proof, endpoint.provider);
      const isBlind = proof.withoutImages === true;
      if (proof.result === "proven" && !isBlind) return;
      // Told when it begins and when it is taken off; what stays as it was is no news.
      const standing = proofs.standing(endpoint, surface);
      const failures = (isBlind ? standing?.images : standing)?.failures ?? 1;
      const isNews = failures === 1 || failures === config.GATEWAY_PROOF_FAILURES;
      const detail = { endpoint: endpoint.id, surface, failures, reason: proof.reason };
      log[isNews ? "warn" : "debug"](
        detail,
        isBlind ? "an endpoint is proven without pictures" : "an endpoint failed its proof",
      );
    },
    warn: (detail, message) => log.warn(detail, message),
  });
  await prober.load();
  metrics.registerUnprovenGauge(() => prober.all().filter(({ proven }) => !proven).length);
  return { prober, sandboxProven: prober.proveSandbox() };
}

function maxAgeOf(config: Config): number {
  return parseDurationMs(config.GATEWAY_PROOF_MAX_AGE) ?? 0;
}

/** A surface that is switched off is not asked for: it would cost, and nobody could use it. */
function surfacesOf(config: Config): readonly ProvenSurface[] {
  const off = switchedOff(config);
  return PROVEN_SURFACES.filter((surface) => !off.has(surface));
}

const SHOWN_MAX = 20;

/** Advice only: what is not proven is not served, and everything else is. */
export function proofCheck(prober: Pick<Prober, "all">): Check {
  return {
    name: "proofs",
    run: async () => {
      const all = prober.all();
      const off = all.filter(({ proven }) => !proven);
      const blind = all.filter(({ proven, images }) => proven && images === false);
      const of = pluralize(all.length, "connected endpoint");
      if (off.length + blind.length === 0) return { ok: true, detail: `${of}, all proven` };
      const parts = [
        off.length === 0
          ? `${of}, all proven`
          : `${off.length} of ${of} not proven, and not served there: ${listed(off)}`,
        ...(blind.length === 0 ? [] : [`${blind.length} proven without pictures, and sent none: ${listed(blind)}`]),
      ];
      return { ok: true, detail: `${parts.join(". ")}. \`gateway probe\` asks again now.` };
    },
  };
}

function listed(some: readonly EndpointProof[]): string {
  return some
    .slice(0, SHOWN_MAX)
    .map(
      ({ endpoint, surface, standing }) => `${endpoint.id} on ${surface} (${standing?.last.reason ?? "not asked yet"})`,
    )
    .join(", ");
}
