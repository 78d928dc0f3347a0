import { Gauge, Registry } from "@prometheus-io/client";
import { CHANNELS, type Channel } from "../../domain/alerts/alert-store.ts";
import { isNodeProvider } from "../../domain/catalogue/node-rows.ts";
import type { Proof } from "../../domain/catalogue/proofs.ts";
import { LOG_TARGETS, type LogTarget } from "../../domain/record/outbox.ts";
import type { RequestRecord } from "../../domain/record/record.ts";
import { memoize } from "../../kit/memoize.ts";
import { GenAiMetrics } from "./genai-metrics.ts";
import { type Notice, TURNED_AWAY } from "./notices.ts";
import { SIGNALS, type Signal } from "./otlp.ts";
import type { ReadGauge } from "./otlp-metrics.ts";
import type { Posting } from "./posting.ts";
import { processGauges } from "./process-gauges.ts";
import { Counts, type ReadSeries, Timings } from "./series.ts";

const LOG_RESULTS = ["sent", "lost"] as const;
type LogResult = (typeof LOG_RESULTS)[number];
const ALERT_RESULTS = ["delivered", "later", "failed"] as const;
type AlertResult = (typeof ALERT_RESULTS)[number];

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

export type Gauges = {
  readonly running: () => number;
  readonly draining: () => number;
  readonly journalPending: () => number;
  readonly journalBroken: () => number;
  readonly journalSetAside: () => number;
  readonly queueTaken: () => number;
  readonly queueWaiting: () => number;
  readonly endpointsAside: () => number;
  readonly nodesConnected: () => number;
  readonly instances: () => number;
  readonly leads: () => number;
  readonly sharedStateOpen: () => number;
};

/** Prometheus metrics. No label is ever a caller's string: routes, providers and codes are closed lists. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #http = new Counts("gateway_http_requests_total", "HTTP requests answered, by route and status.");
  readonly #httpSeconds = new Timings(
    "gateway_http_request_seconds",
    "Time from a request's arrival to the end of its answer.",
    SECONDS,
  );
  readonly #requests = new Counts(
    "gateway_inference_requests_total",
    "Inference requests finished, by surface, serving provider, status and error code.",
  );
  readonly #tokens = new Counts("gateway_tokens_total", "Tokens used, by provider and kind.");
  readonly #firstByte = new Timings(
    "gateway_first_byte_seconds",
    "Time to the first byte of an inference answer.",
    SECONDS,
  );
  readonly #overhead = new Timings(
    "gateway_overhead_seconds",
    "Time an inference request spent in the gateway itself.",
    [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 1],
  );
  readonly #attempts = new Counts("gateway_attempts_total", "Attempts at provider endpoints, by outcome.");
  readonly #charged = new Counts(
    "gateway_charged_total",
    "What requests were charged, in units of the currency, by provider and currency.",
  );
  readonly #genai = new GenAiMetrics();
  readonly #logExport = new Counts(
    "gateway_log_export_records_total",
    "Requests of the log that were sent to a target, or given up, by target and result.",
  );
  readonly #logExportFailures = new Counts(
    "gateway_log_export_failures_total",
    "Tries to send the log that failed and are made again, by target.",
  );
  readonly #telemetry = new Counts(
    "gateway_telemetry_messages_total",
    "Tries to send a message of telemetry, by signal and result.",
  );
  readonly #telemetryDropped = new Counts(
    "gateway_telemetry_dropped_total",
    "Requests whose telemetry was dropped, because too many waited or the receiver refused them, by signal.",
  );

  readonly #retries = new Counts(
    "gateway_retries_total",
    "Attempts that were not the first of their request, by provider and whether it was the same endpoint again.",
  );
  readonly #budgetSpent = new Counts(
    "gateway_retry_budget_spent_total",
    "Requests that ended because the retry budget was spent, by the provider that was not asked.",
  );
  readonly #passedOver = new Counts(
    "gateway_passed_over_total",
    "Endpoints that were passed over, by provider and reason.",
  );
  readonly #turnedAway = new Counts("gateway_queue_refusals_total", "Requests that found no place, by reason.");
  readonly #credentials = new Counts(
    "gateway_credential_refusals_total",
    "Refusals of the gateway's own credential, account or deployment, by provider and status.",
  );
  readonly #figuresReplaced = new Counts(
    "gateway_figures_replaced_total",
    "Answers charged by the gateway's own count in the place of the provider's figures, by provider and reason.",
  );

  readonly #proofs = new Counts("gateway_proofs_total", "Proofs of endpoints, by surface, provider and result.");
  readonly #proofTokens = new Counts(
    "gateway_proof_tokens_total",
    "Tokens that proofs used, which the operator pays for, by provider and kind.",
  );
  readonly #peerRefusals = new Counts(
    "gateway_peer_refusals_total",
    "Connections and requests of other instances that were turned away, by reason.",
  );
  readonly #alerts = new Counts("gateway_alert_deliveries_total", "Tries to deliver an alert, by channel and result.");

  /** What alerts ask for any increase of stands at zero, but for what is told by provider: see the rules. */
  constructor() {
    this.#overhead.begin("");
    for (const why of TURNED_AWAY) this.#turnedAway.add(ofTurn(why), 0);
    for (const channel of CHANNELS)
      for (const result of ALERT_RESULTS) this.#alerts.add(ofDelivery(channel, result), 0);
    for (const target of LOG_TARGETS)
      for (const result of LOG_RESULTS) this.#logExport.add(ofTarget(target, result), 0);
    for (const signal of SIGNALS) this.#telemetryDropped.add(ofSignal(signal), 0);
  }

  /** Figures that are read when somebody asks. */
  watch(gauges: Gauges): void {
    gauge(
      "gateway_running_requests",
      "HTTP requests being worked on now: answered or not, as those of background responses are.",
      gauges.running,
      this.#registry,
    );
    gauge("gateway_draining", "1 while the gateway is stopping.", gauges.draining, this.#registry);
    gauge(
      "gateway_journal_pending_records",
      "Journal records not yet in the store.",
      gauges.journalPending,
      this.#registry,
    );
    gauge(
      "gateway_journal_broken",
      "1 while the journal cannot be written, so that nothing is served.",
      gauges.journalBroken,
      this.#registry,
    );
    gauge(
      "gateway_journal_set_aside",
      "Records that the store did not take, and damaged segments: a person must look at them.",
      gauges.journalSetAside,
      this.#registry,
    );
    gauge("gateway_instances", "Instances of this gateway that are alive.", gauges.instances, this.#registry);
    gauge(
      "gateway_leads",
      "1 on the instance that does what only one must do, such as removing what has expired.",
      gauges.leads,
      this.#registry,
    );
    gauge(
      "gateway_shared_state_open",
      "0 while paid work is refused: Redis does not answer, or the wallets are being filled.",
      gauges.sharedStateOpen,
      this.#registry,
    );
    gauge("gateway_queue_taken", "Inference requests being served now.", gauges.queueTaken, this.#registry);
    gauge("gateway_queue_waiting", "Inference requests waiting for a place.", gauges.queueWaiting, this.#registry);
    gauge(
      "gateway_endpoints_aside",
      "Endpoints set aside after failures, so that they are tried last.",
      gauges.endpointsAside,
      this.#registry,
    );
    gauge(
      "gateway_nodes_connected",
      "Nodes of workspaces that are connected now.",
      gauges.nodesConnected,
      this.#registry,
    );
    this.#watchProcess();
  }

  #watchProcess(): void {
    const own = processGauges();
    gauge("gateway_resident_memory_bytes", "Resident memory of the process.", own.residentBytes, this.#registry);
    gauge("gateway_heap_used_bytes", "Memory that objects of the process take.", own.heapBytes, this.#registry);
    gauge(
      "gateway_cpu_seconds",
      "Processor time that the process took since its start.",
      own.cpuSeconds,
      this.#registry,
    );
    gauge("gateway_uptime_seconds", "Time since the process started.", own.uptimeSeconds, this.#registry);
    gauge(
      "gateway_event_loop_delay_seconds",
      "How late the event loop was since the last look: 99 of 100 times it was less.",
      own.eventLoopDelaySeconds,
      this.#registry,
    );
    gauge(
      "gateway_event_loop_utilization",
      "Share of the time since the last look in which the event loop was busy.",
      own.eventLoopUtilization,
      this.#registry,
    );
  }

  answered(route: string, status: number, durationMs: number): void {
    const labels = ofRoute(route);
    this.#http.add(labels.with(status), 1);
    this.#httpSeconds.observe(labels.all, durationMs / 1000);
  }

  finished(record: RequestRecord): void {
    const { surface, provider, status, errorCode, overheadMs, ttfbMs, attempts, usage, charge } = record;
    const labels = ofProvider(labelOf(provider ?? "none"));
    this.#requests.add(labels.ended(surface)(status)(errorCode ?? "none"), 1);
    this.#overhead.observe("", overheadMs / 1000);
    if (ttfbMs !== null) this.#firstByte.observe(labels.all, ttfbMs / 1000);
    for (const attempt of attempts) this.#attempts.add(ofProvider(labelOf(attempt.provider)).tried(attempt.outcome), 1);
    if (usage !== null) {
      this.#tokens.add(labels.input, usage.inputTokens);
      this.#tokens.add(labels.output, usage.outputTokens);
    }
    if (charge !== null) this.#charged.add(labels.charged(charge.currency), Number(charge.nanos) / 1e9);
    this.#genai.finished(record);
  }

  noticed(notice: Notice): void {
    switch (notice.is) {
      case "retried":
        this.#retries.add(`provider="${labelOf(notice.provider)}",at="${notice.at}"`, 1);
        break;
      case "budget_spent":
        this.#budgetSpent.add(`provider="${labelOf(notice.provider)}"`, 1);
        break;
      case "passed_over":
        this.#passedOver.add(`provider="${labelOf(notice.provider)}",why="${notice.why}"`, 1);
        break;
      case "turned_away":
        this.#turnedAway.add(ofTurn(notice.why), 1);
        break;
      case "credential_refused":
        this.#credentials.add(`provider="${labelOf(notice.provider)}",status="${notice.status ?? "none"}"`, 1);
        break;
      case "figures_replaced":
        this.#figuresReplaced.add(`provider="${labelOf(notice.provider)}",why="${notice.why}"`, 1);
        break;
    }
  }

  /** Of the request log, on its way to a target. */
  logExported(target: LogTarget, result: LogResult, count: number): void {
    this.#logExport.add(ofTarget(target, result), count);
  }

  logExportFailed(target: LogTarget): void {
    this.#logExportFailures.add(`target="${target}"`, 1);
  }

  /** How long the oldest request waits for each target, in milliseconds. */
  watchLogExport(lags: () => Iterable<{ readonly target: LogTarget; readonly lagMs: number }>): void {
    new Gauge({
      name: "gateway_log_export_lag_seconds",
      help: "How long the oldest request waits to be sent to a target of the log.",
      labelNames: ["target"],
      registers: [this.#registry],
      collect() {
        for (const { target, lagMs } of lags()) this.set({ target }, lagMs / 1000);
      },
    });
  }

  /** `handshake` is somebody without a key of this gateway. */
  peerRefused(why: "handshake" | "path" | "node" | "full"): void {
    this.#peerRefusals.add(`why="${why}"`, 1);
  }

  /** A message of telemetry was sent, or tried to be. */
  exported(signal: Signal, result: Posting): void {
    this.#telemetry.add(`signal="${signal}",result="${result}"`, 1);
  }

  dropped(signal: Signal, count: number): void {
    this.#telemetryDropped.add(ofSignal(signal), count);
  }

  alerted(channel: Channel, result: AlertResult): void {
    this.#alerts.add(ofDelivery(channel, result), 1);
  }

  proved({ surface, result, inputTokens, outputTokens }: Proof, provider: string): void {
    const labels = `provider="${provider}"`;
    this.#proofs.add(`surface="${surface}",${labels},result="${result}"`, 1);
    if (inputTokens !== null) this.#proofTokens.add(`${labels},kind="input"`, inputTokens);
    if (outputTokens !== null) this.#proofTokens.add(`${labels},kind="output"`, outputTokens);
  }

  watchProofs(unproven: () => number): void {
    const help = "Connected endpoints that are not proven on a surface, and so not served there.";
    gauge("gateway_endpoints_unproven", help, unproven, this.#registry);
  }

  /** Everything that is added up with each request. */
  get #series(): readonly (Counts | Timings)[] {
    return [
      this.#http,
      this.#httpSeconds,
      this.#requests,
      this.#tokens,
      this.#charged,
      this.#firstByte,
      this.#overhead,
      this.#attempts,
      this.#retries,
      this.#budgetSpent,
      this.#passedOver,
      this.#turnedAway,
      this.#credentials,
      this.#figuresReplaced,
      this.#peerRefusals,
      this.#alerts,
      this.#proofs,
      this.#proofTokens,
      this.#logExport,
      this.#logExportFailures,
      this.#telemetry,
      this.#telemetryDropped,
      ...this.#genai.series,
    ];
  }

  /** All of them, for whoever writes them in another form. */
  async read(): Promise<{ readonly series: readonly ReadSeries[]; readonly gauges: readonly ReadGauge[] }> {
    const gauges = await this.#registry.getMetricsAsJSON();
    return {
      series: this.#series.map((one) => one.read()),
      gauges: gauges.map(({ name, help, values }) => ({
        name,
        help,
        values: values.map(({ labels, value }) => ({ labels: { ...labels }, value })),
      })),
    };
  }

  async text(): Promise<{ readonly contentType: string; readonly body: string }> {
    const texts = [...this.#series.map((one) => one.text()), await this.#registry.metrics()];
    return { contentType: this.#registry.contentType, body: texts.join("\n\n") };
  }
}

/** The texts of labels of the request path: made once, because making them would cost more than the counting. */
const ofRoute = memoize((route: string) => ({
  all: `route="${route}"`,
  with: memoize((status: number) => `route="${route}",status="${status}"`),
}));

const ofProvider = memoize((provider: string) => {
  const all = `provider="${provider}"`;
  return {
    all,
    input: `${all},kind="input"`,
    output: `${all},kind="output"`,
    tried: memoize((outcome: string) => `${all},outcome="${outcome}"`),
    charged: memoize((currency: string) => `${all},currency="${currency}"`),
    ended: memoize((surface: string) =>
      memoize((status: number) =>
        memoize((code: string) => `surface="${surface}",${all},status="${status}",code="${code}"`),
      ),
    ),
  };
});

const ofTurn = (why: (typeof TURNED_AWAY)[number]) => `why="${why}"`;
const ofTarget = (target: LogTarget, result: LogResult) => `target="${target}",result="${result}"`;
const ofDelivery = (channel: Channel, result: AlertResult) => `channel="${channel}",result="${result}"`;
const ofSignal = (signal: Signal) => `signal="${signal}"`;

function gauge(name: string, help: string, read: () => number, registry: Registry): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}

/** Names of nodes are their workspaces' own words, and there may be any number: here they are all one. */
function labelOf(provider: string): string {
  return isNodeProvider(provider) ? "node" : provider;
}
