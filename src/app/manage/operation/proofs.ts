import { fault, invalidValue } from "../../../contract/faults.ts";
import { ProbeQuery, ProbeRun } from "../../../contract/schemas/manage-proofs.ts";
import type { CatalogueSnapshot } from "../../../domain/catalogue/catalogue.ts";
import type { SurfaceProof } from "../../../domain/catalogue/proofs.ts";
import { buffered, type Handler } from "../../exchange.ts";
import { printable } from "../../printable.ts";
import type { EndpointProof } from "../../prober/prober.ts";
import { readOptionalBody, readQuery } from "../../request-input.ts";
import { mutation } from "../caller-scope.ts";
import { commitWithAudit, type ManageContext } from "../deps.ts";
import { isoTime } from "../views.ts";

export function proofHandlers(context: ManageContext): Record<string, Handler> {
  const { prober } = context;
  return {
    manageListProofs: buffered(async () => ({
      status: 200,
      json: { data: prober.all().map((one) => endpointProofView(one, prober.maxAgeMs)), next: null },
    })),
    manageListProbes: buffered(async (exchange) => {
      const { limit, cursor, ...filter } = readQuery(exchange, ProbeQuery);
      const { rows, next } = await prober.history(filter, limit, cursor ?? null);
      return { status: 200, json: { data: rows.map((row) => proofView(row, context.snapshot())), next } };
    }),
    manageRunProbes: mutation(context, async (exchange, scope) => {
      const { endpoint, surface } = await readOptionalBody(exchange, ProbeRun);
      const targets = prober
        .all()
        .filter((one) => (endpoint ?? one.endpoint.id) === one.endpoint.id && (surface ?? one.surface) === one.surface);
      if (endpoint !== undefined && targets.length === 0) throw notProbeable(scope.snapshot(), endpoint, surface);
      const proofs = await prober.prove(targets, "operator");
      const failed = proofs.filter(({ result }) => result === "failed").length;
      const detail = { surface: surface ?? null, proven: proofs.length - failed, failed };
      await commitWithAudit(scope, async () => ({
        answer: null,
        audit: { action: "probes.run", workspaceId: null, target: endpoint ?? null, detail },
      }));
      return { status: 200, json: { ok: failed === 0, data: proofs.map((one) => proofView(one, scope.snapshot())) } };
    }),
  };
}

function notProbeable(snapshot: CatalogueSnapshot, id: string, surface: string | undefined) {
  if (!snapshot.endpoints.has(id))
    return fault("not_found", {
      message: `There is no endpoint "${printable(id)}". \`gateway proof list\` lists the endpoints.`,
    });
  return invalidValue(
    "endpoint",
    `must be an endpoint that can be probed: ${id} does not serve ${surface ?? "decisions or speech"} here, its provider is not connected, it has no price, or it is retired`,
  );
}

function proofView(proof: SurfaceProof, { endpoints }: CatalogueSnapshot) {
  const { id, endpoint, surface, result, reason, cause, audioMs } = proof;
  return {
    id,
    endpoint,
    provider: endpoints.get(endpoint)?.provider ?? endpoint.slice(0, Math.max(0, endpoint.indexOf(":"))),
    surface,
    at: isoTime(proof.atMs),
    result,
    reason,
    cause,
    duration_ms: proof.durationMs,
    input_tokens: proof.inputTokens,
    output_tokens: proof.outputTokens,
    audio_seconds: audioMs === null ? null : audioMs / 1000,
  };
}

function endpointProofView({ endpoint, surface, proven, images, status }: EndpointProof, maxAgeMs: number) {
  const provenAtMs = status?.provenAtMs ?? null;
  return {
    endpoint: endpoint.id,
    provider: endpoint.provider,
    model: endpoint.model,
    surface,
    proven,
    images,
    proven_at: provenAtMs === null ? null : isoTime(provenAtMs),
    expires_at: provenAtMs === null ? null : isoTime(provenAtMs + maxAgeMs),
    failures: status?.failures ?? 0,
    last:
      status === undefined
        ? null
        : { at: isoTime(status.last.atMs), result: status.last.result, reason: status.last.reason },
  };
}
