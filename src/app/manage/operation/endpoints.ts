import type { z } from "zod";
import { type EndpointList, EndpointQuery } from "../../../contract/schemas/manage-operator.ts";
import type { Endpoint } from "../../../domain/catalogue/catalogue.ts";
import type { CircuitState } from "../../../domain/routing/circuit-state.ts";
import type { LatencyPercentiles } from "../../../domain/routing/latency-estimate.ts";
import { buffered, type Handler } from "../../exchange.ts";
import { readQuery } from "../../request-input.ts";
import type { ManageContext } from "../deps.ts";
import { isoTime } from "../views.ts";

type EndpointView = z.infer<typeof EndpointList>["data"][number];
type EndpointFilter = z.infer<typeof EndpointQuery>;

/** The API's names of the circuit states. */
const API_STATES = { closed: "in", open: "aside", half_open: "probe" } as const satisfies Record<CircuitState, string>;

function endpointView(
  { endpoints: { breakers, health, endpointSlots }, connections }: ManageContext,
  endpoint: Endpoint,
  nowMs: number,
): EndpointView {
  const { id, provider, region, model, surfaces, status } = endpoint;
  const circuit = breakers.statusOf(id);
  const recent = health.recentPercentiles(id);
  const expected = health.estimate(id, nowMs);
  const isConnected = connections.credential(provider) !== undefined;
  const { circuitState, openForMs, lastFailedAtMs } = circuit;
  return {
    id,
    provider,
    region,
    model,
    surfaces: [...surfaces],
    state: status === "retired" ? "retired" : isConnected ? API_STATES[circuitState] : "not_connected",
    aside_until: openForMs === null ? null : isoTime(Math.round(nowMs + openForMs)),
    failures_in_a_row: circuit.consecutiveFailures,
    in_flight: endpointSlots.inUse(id),
    served: circuit.served,
    failed: circuit.failed,
    times_aside: circuit.timesOpened,
    last_failed_at: lastFailedAtMs === null ? null : isoTime(lastFailedAtMs),
    answers: recent?.samples ?? 0,
    total: spreadView(recent?.total ?? null),
    first_byte: spreadView(recent?.firstByte ?? null),
    expected:
      expected === undefined
        ? null
        : { first_byte_ms: tenths(expected.firstByteMs), per_token_ms: tenths(expected.perTokenMs) },
  };
}

function spreadView(spread: LatencyPercentiles | null) {
  return spread === null ? null : { p50_ms: tenths(spread.p50Ms), p95_ms: tenths(spread.p95Ms) };
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}

function matchesFilter({ provider, model, state, used }: EndpointFilter, view: EndpointView): boolean {
  const wasUsed = view.served + view.failed + view.in_flight > 0;
  return (
    (provider ?? view.provider) === view.provider &&
    (model ?? view.model) === view.model &&
    (state ?? view.state) === view.state &&
    (used === undefined || (used === "true") === wasUsed)
  );
}

export function endpointHandlers(context: ManageContext): Record<string, Handler> {
  return {
    manageListEndpoints: buffered(async (exchange) => {
      const query = readQuery(exchange, EndpointQuery);
      const nowMs = context.clock.nowMs();
      const views = [...context.snapshot().endpoints.values()].map((endpoint) =>
        endpointView(context, endpoint, nowMs),
      );
      const data = views.filter((view) => matchesFilter(query, view)).toSorted((a, b) => (a.id < b.id ? -1 : 1));
      return { status: 200, json: { data, next: null, at: isoTime(nowMs) } };
    }),
  };
}
