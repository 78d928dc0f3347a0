import type { z } from "zod";
import { type MeasurementList, MeasurementQuery } from "../../../contract/schemas/manage-operator.ts";
import type { Endpoint } from "../../../domain/catalogue/catalogue.ts";
import type { LatencyPercentiles } from "../../../domain/routing/latency-estimate.ts";
import { buffered, type Handler } from "../../exchange.ts";
import { readQuery } from "../../request-input.ts";
import type { ManageContext } from "../deps.ts";
import { isoTime } from "../views.ts";

type Measurement = z.infer<typeof MeasurementList>["data"][number];

/** What the traffic of this instance shows about endpoints; it names no workspace. */
export function measurementHandlers(context: ManageContext): Record<string, Handler> {
  return {
    manageListMeasurements: buffered(async (exchange) => {
      const { model, provider } = readQuery(exchange, MeasurementQuery);
      const nowMs = context.clock.nowMs();
      const data = [...context.snapshot().endpoints.values()]
        .filter((one) => (model ?? one.model) === one.model && (provider ?? one.provider) === one.provider)
        .flatMap((endpoint) => measurementOf(context, endpoint, nowMs) ?? [])
        .toSorted((a, b) => (a.endpoint < b.endpoint ? -1 : 1));
      const since = isoTime(context.effectiveSettings.startedAtMs);
      return { status: 200, json: { data, next: null, since, at: isoTime(nowMs) } };
    }),
  };
}

function measurementOf(
  { endpoints: { breakers, health } }: ManageContext,
  { id, provider, region }: Endpoint,
  nowMs: number,
): Measurement | undefined {
  const { served, failed } = breakers.statusOf(id);
  const recent = health.recentPercentiles(id);
  const attempts = served + failed;
  if (attempts === 0 && recent === undefined) return undefined;
  const perTokenMs = health.estimate(id, nowMs)?.perTokenMs ?? 0;
  return {
    endpoint: id,
    provider,
    region,
    attempts,
    uptime: attempts === 0 ? null : rounded(served / attempts, 4),
    samples: recent?.samples ?? 0,
    latency: spreadOf(recent?.total ?? null),
    first_byte: spreadOf(recent?.firstByte ?? null),
    tokens_per_second: perTokenMs > 0 ? rounded(1000 / perTokenMs, 1) : null,
  };
}

function spreadOf(spread: LatencyPercentiles | null): Measurement["latency"] {
  return spread === null ? null : { p50_ms: rounded(spread.p50Ms, 1), p95_ms: rounded(spread.p95Ms, 1) };
}

function rounded(value: number, places: number): number {
  return Number(value.toFixed(places));
}
