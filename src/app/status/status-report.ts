import type { PublicStatus, STATUS_WINDOWS } from "../../contract/schemas/status.ts";
import type { CatalogueSnapshot, Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { CircuitState } from "../../domain/routing/circuit-state.ts";
import type { ActivitySpan, ActivityStore, EndpointActivity } from "../../domain/routing/endpoint-activity.ts";
import type { Clock } from "../../kit/clock.ts";
import { sketchCount, sketchQuantiles } from "../../kit/quantile-sketch.ts";
import { DAY_MS, HOUR_MS } from "../../kit/time.ts";

/** With fewer attempts a figure would say more about a single tenant than about the endpoint. */
const SAMPLES_MIN = 20;
const STATUS_CACHE_MS = 60_000;

type Window = (typeof STATUS_WINDOWS)[number];
type EndpointView = PublicStatus["providers"][number]["endpoints"][number];

const WINDOWS: Readonly<
  Record<Window, { readonly span: ActivitySpan; readonly spanMs: number; readonly count: number }>
> = {
  "24h": { span: "hour", spanMs: HOUR_MS, count: 24 },
  "7d": { span: "day", spanMs: DAY_MS, count: 7 },
  "90d": { span: "day", spanMs: DAY_MS, count: 90 },
};

const STATES: Readonly<Record<CircuitState, EndpointView["state"]>> = {
  closed: "operational",
  half_open: "recovering",
  open: "down",
};

export type StatusReportDeps = {
  readonly clock: Clock;
  readonly snapshot: () => CatalogueSnapshot;
  readonly circuitStateOf: (endpointId: string) => CircuitState;
  readonly store: Pick<ActivityStore, "since">;
};

/** Builds the public status at most once a minute, however often it is requested. */
export class StatusReport {
  readonly #deps: StatusReportDeps;
  #cached: { readonly atMs: number; readonly status: Promise<PublicStatus> } | undefined;

  constructor(deps: StatusReportDeps) {
    this.#deps = deps;
  }

  read(): Promise<PublicStatus> {
    const nowMs = this.#deps.clock.nowMs();
    if (this.#cached !== undefined && nowMs - this.#cached.atMs < STATUS_CACHE_MS) return this.#cached.status;
    const status = this.#build(nowMs);
    this.#cached = { atMs: nowMs, status };
    status.catch(() => {
      this.#cached = undefined;
    });
    return status;
  }

  async #build(nowMs: number): Promise<PublicStatus> {
    const { snapshot, circuitStateOf } = this.#deps;
    const { endpoints, providers } = snapshot();
    const activity = {
      "24h": await this.#activity("24h", nowMs),
      "7d": await this.#activity("7d", nowMs),
      "90d": await this.#activity("90d", nowMs),
    };
    const views = [...endpoints.values()]
      .filter(({ status }) => status !== "retired")
      .map((endpoint) => ({
        provider: endpoint.provider,
        view: endpointView(endpoint, STATES[circuitStateOf(endpoint.id)], {
          "24h": figures(activity["24h"].get(endpoint.id)),
          "7d": figures(activity["7d"].get(endpoint.id)),
          "90d": figures(activity["90d"].get(endpoint.id)),
        }),
      }))
      // Without figures, an endpoint would only tell that some tenant has called it.
      .filter(({ view }) => Object.values(view.windows).some((window) => window !== null));
    const byProvider = Map.groupBy(views, ({ provider }) => provider);
    return {
      state: views.some(({ view }) => view.state === "down") ? "degraded" : "operational",
      updated_at: new Date(nowMs).toISOString(),
      samples_min: SAMPLES_MIN,
      providers: [...byProvider]
        .map(([slug, own]) => ({
          slug,
          name: providers.get(slug)?.name ?? slug,
          endpoints: own.map(({ view }) => view).toSorted((a, b) => (a.id < b.id ? -1 : 1)),
        }))
        .toSorted((a, b) => a.name.localeCompare(b.name)),
    };
  }

  async #activity(window: Window, nowMs: number): Promise<ReadonlyMap<string, EndpointActivity>> {
    const { span, spanMs, count } = WINDOWS[window];
    const currentMs = nowMs - (nowMs % spanMs);
    const rows = await this.#deps.store.since(span, currentMs - (count - 1) * spanMs);
    return new Map(rows.map((row) => [row.endpoint, row]));
  }
}

function endpointView(
  endpoint: Endpoint,
  state: EndpointView["state"],
  windows: EndpointView["windows"],
): EndpointView {
  return {
    id: endpoint.id,
    model: endpoint.model,
    region: endpoint.region,
    level: endpoint.sovereignty.level,
    simulated: endpoint.sandbox,
    state,
    windows,
  };
}

const AVAILABILITY_PLACES = 4;

function figures(activity: EndpointActivity | undefined): EndpointView["windows"]["24h"] {
  if (activity === undefined || activity.served + activity.failed < SAMPLES_MIN) return null;
  const { served, failed, latencyMs } = activity;
  const [p50, p95] = sketchCount(latencyMs) < SAMPLES_MIN ? [] : (sketchQuantiles(latencyMs, [0.5, 0.95]) ?? []);
  return {
    // Rounded down: 100 % means that no attempt failed.
    availability: Math.floor((served / (served + failed)) * 10 ** AVAILABILITY_PLACES) / 10 ** AVAILABILITY_PLACES,
    p50_ms: p50 === undefined ? null : Math.round(p50),
    p95_ms: p95 === undefined ? null : Math.round(p95),
  };
}
