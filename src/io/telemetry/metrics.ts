import { Gauge, Registry } from "@prometheus-io/client";
import { CHANNELS, type Channel } from "../../domain/alerts/alert-store.ts";
import type { SurfaceProof } from "../../domain/catalogue/proofs.ts";
import { DETECTOR_RESULTS, type DetectorResult } from "../../domain/data-classes/external-detector.ts";
import { LOG_TARGETS, type LogTarget } from "../../domain/record/log-outbox.ts";
import type { ExportResult } from "./export-result.ts";
import { type OperatorEvent, QUEUE_REJECTION_REASONS } from "./operator-events.ts";
import { SIGNALS, type Signal } from "./otlp-client.ts";
import type { GaugeSnapshot } from "./otlp-metrics.ts";
import { processGauges } from "./process-gauges.ts";
import { prometheusText } from "./prometheus-text.ts";
import { providerLabel, RequestMetrics } from "./request-metrics.ts";
import { CounterSeries, HistogramSeries, type SeriesSnapshot } from "./series.ts";

const LOG_EXPORT_OUTCOMES = ["sent", "lost"] as const;
type LogExportOutcome = (typeof LOG_EXPORT_OUTCOMES)[number];
const ALERT_DELIVERY_OUTCOMES = ["delivered", "later", "failed"] as const;
type AlertDeliveryOutcome = (typeof ALERT_DELIVERY_OUTCOMES)[number];

const UPSTREAM_POOLS = ["shared", "workspace", "own_key"] as const;
const TOKEN_REJECTIONS = ["wrong", "throttled"] as const;

export type GaugeSources = {
  readonly runningRequests: () => number;
  readonly draining: () => number;
  readonly journalPending: () => number;
  readonly journalBroken: () => number;
  readonly journalDeadLetters: () => number;
  readonly queueActive: () => number;
  readonly queueWaiting: () => number;
  readonly circuitsOpen: () => number;
  readonly nodesConnected: () => number;
  readonly instances: () => number;
  readonly isLeader: () => number;
  readonly sharedStateOpen: () => number;
};

/** Prometheus metrics. Label values come from closed lists, never from callers. */
export class Metrics extends RequestMetrics {
  readonly #registry = new Registry();
  readonly #logExport = new CounterSeries(
    "gateway_log_export_records_total",
    "Requests of the log that were exported or dropped, by target and result.",
  );
  readonly #logExportFailures = new CounterSeries(
    "gateway_log_export_failures_total",
    "Failed exports of the log that are retried, by target.",
  );
  readonly #telemetry = new CounterSeries("gateway_telemetry_messages_total", "OTLP exports, by signal and result.");
  readonly #telemetryDropped = new CounterSeries(
    "gateway_telemetry_dropped_total",
    "Requests whose telemetry was dropped, because the queue was full or the receiver rejected it, by signal.",
  );

  readonly #retries = new CounterSeries(
    "gateway_retries_total",
    "Attempts that were not the first of their request, by provider and whether it was the same endpoint again.",
  );
  readonly #retryBudgetExhausted = new CounterSeries(
    "gateway_retry_budget_spent_total",
    "Requests that ended because the retry budget was exhausted, by the provider that was not tried.",
  );
  readonly #skippedEndpoints = new CounterSeries(
    "gateway_passed_over_total",
    "Skipped endpoints, by provider and reason.",
  );
  readonly #queueRejections = new CounterSeries(
    "gateway_queue_refusals_total",
    "Requests rejected by the admission queue, by reason.",
  );
  readonly #catalogueErrors = new CounterSeries(
    "gateway_catalogue_errors_total",
    "Parameters that a provider rejected as unsupported although the catalogue claims them; the log names the endpoint.",
  );
  readonly #credentialRejections = new CounterSeries(
    "gateway_credential_refusals_total",
    "Rejections of the operator's credential, account or deployment, by provider and status.",
  );
  readonly #usageReplaced = new CounterSeries(
    "gateway_figures_replaced_total",
    "Responses charged by the gateway's token count instead of the provider's usage, by provider and reason.",
  );

  readonly #proofs = new CounterSeries("gateway_proofs_total", "Proofs of endpoints, by surface, provider and result.");
  readonly #proofTokens = new CounterSeries(
    "gateway_proof_tokens_total",
    "Tokens that proofs used, which the operator pays for, by provider and kind.",
  );
  readonly #peerRejections = new CounterSeries(
    "gateway_peer_refusals_total",
    "Rejected connections and requests of other instances, by reason.",
  );
  readonly #tokenRejections = new CounterSeries(
    "gateway_operator_token_rejections_total",
    "Wrong tokens sent to the management API or /metrics, by whether their address was throttled.",
  );
  readonly #unsolicitedBytes = new CounterSeries(
    "gateway_upstream_unsolicited_bytes_total",
    "Connections closed because the provider sent bytes that belong to no request, by who used the connection.",
  );
  readonly #alerts = new CounterSeries(
    "gateway_alert_deliveries_total",
    "Alert delivery attempts, by channel and result.",
  );

  readonly #detectors = new CounterSeries(
    "gateway_data_class_detector_reads_total",
    "Requests that an external detector of a data class had to read, by result.",
  );
  readonly #detectorSeconds = new HistogramSeries(
    "gateway_data_class_detector_seconds",
    "Time that a request waited for an external detector of a data class.",
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  );

  /** Series that alert rules watch for an increase start at zero, except those by provider. */
  constructor() {
    super();
    for (const why of QUEUE_REJECTION_REASONS) this.#queueRejections.add(queueRejectionLabels(why), 0);
    for (const result of DETECTOR_RESULTS) this.#detectors.add(`result="${result}"`, 0);
    for (const why of TOKEN_REJECTIONS) this.#tokenRejections.add(`why="${why}"`, 0);
    for (const pool of UPSTREAM_POOLS) this.#unsolicitedBytes.add(`pool="${pool}"`, 0);
    for (const channel of CHANNELS)
      for (const result of ALERT_DELIVERY_OUTCOMES) this.#alerts.add(alertLabels(channel, result), 0);
    for (const target of LOG_TARGETS)
      for (const result of LOG_EXPORT_OUTCOMES) this.#logExport.add(logExportLabels(target, result), 0);
    for (const signal of SIGNALS) this.#telemetryDropped.add(signalLabels(signal), 0);
  }

  /** Gauges are read on every scrape. */
  registerGauges(gauges: GaugeSources): void {
    registerGauge(
      "gateway_running_requests",
      "HTTP requests in progress, including those of background responses.",
      gauges.runningRequests,
      this.#registry,
    );
    registerGauge("gateway_draining", "1 while the gateway is stopping.", gauges.draining, this.#registry);
    registerGauge(
      "gateway_journal_pending_records",
      "Journal records not yet in the store.",
      gauges.journalPending,
      this.#registry,
    );
    registerGauge(
      "gateway_journal_broken",
      "1 while the journal cannot be written and all requests are rejected.",
      gauges.journalBroken,
      this.#registry,
    );
    registerGauge(
      "gateway_journal_set_aside",
      "Dead letters of the journal: records that the store rejected, and corrupt segments. An operator must inspect them.",
      gauges.journalDeadLetters,
      this.#registry,
    );
    registerGauge("gateway_instances", "Instances of this gateway that are alive.", gauges.instances, this.#registry);
    registerGauge(
      "gateway_leads",
      "1 on the leader, which runs the tasks of the whole deployment.",
      gauges.isLeader,
      this.#registry,
    );
    registerGauge(
      "gateway_shared_state_open",
      "0 while paid requests are rejected: Redis does not respond, or the wallets are being rebuilt.",
      gauges.sharedStateOpen,
      this.#registry,
    );
    registerGauge("gateway_queue_taken", "Inference requests in progress.", gauges.queueActive, this.#registry);
    registerGauge(
      "gateway_queue_waiting",
      "Inference requests waiting in the admission queue.",
      gauges.queueWaiting,
      this.#registry,
    );
    registerGauge(
      "gateway_endpoints_aside",
      "Endpoints whose circuit is open after failures; they are tried last.",
      gauges.circuitsOpen,
      this.#registry,
    );
    registerGauge("gateway_nodes_connected", "Connected nodes of workspaces.", gauges.nodesConnected, this.#registry);
    this.#registerProcessGauges();
  }

  #registerProcessGauges(): void {
    const gauges = processGauges();
    registerGauge(
      "gateway_resident_memory_bytes",
      "Resident memory of the process.",
      gauges.residentBytes,
      this.#registry,
    );
    registerGauge(
      "gateway_memory_limit_bytes",
      "Memory limit of the container, or without one the memory of the machine.",
      gauges.memoryLimitBytes,
      this.#registry,
    );
    registerGauge("gateway_heap_used_bytes", "Used heap memory of the process.", gauges.heapBytes, this.#registry);
    registerGauge("gateway_cpu_seconds", "CPU time of the process since its start.", gauges.cpuSeconds, this.#registry);
    registerGauge("gateway_uptime_seconds", "Time since the process started.", gauges.uptimeSeconds, this.#registry);
    registerGauge(
      "gateway_event_loop_delay_seconds",
      "p99 event-loop delay since the previous scrape.",
      gauges.eventLoopDelaySeconds,
      this.#registry,
    );
    registerGauge(
      "gateway_event_loop_utilization",
      "Event-loop utilization since the previous scrape.",
      gauges.eventLoopUtilization,
      this.#registry,
    );
  }

  recordEvent(event: OperatorEvent): void {
    switch (event.is) {
      case "retried":
        this.#retries.add(`provider="${providerLabel(event.provider)}",at="${event.at}"`, 1);
        break;
      case "retry_budget_exhausted":
        this.#retryBudgetExhausted.add(`provider="${providerLabel(event.provider)}"`, 1);
        break;
      case "endpoint_skipped":
        this.#skippedEndpoints.add(`provider="${providerLabel(event.provider)}",why="${event.why}"`, 1);
        break;
      case "queue_rejected":
        this.#queueRejections.add(queueRejectionLabels(event.why), 1);
        break;
      case "credential_rejected":
        this.#credentialRejections.add(
          `provider="${providerLabel(event.provider)}",status="${event.status ?? "none"}"`,
          1,
        );
        break;
      case "parameter_rejected":
        this.#catalogueErrors.add(`provider="${providerLabel(event.provider)}",parameter="${event.parameter}"`, 1);
        break;
      case "usage_replaced":
        this.#usageReplaced.add(`provider="${providerLabel(event.provider)}",why="${event.why}"`, 1);
        break;
    }
  }

  recordLogExport(target: LogTarget, result: LogExportOutcome, count: number): void {
    this.#logExport.add(logExportLabels(target, result), count);
  }

  recordLogExportFailure(target: LogTarget): void {
    this.#logExportFailures.add(`target="${target}"`, 1);
  }

  /** `lags` returns the age of the oldest waiting request of each target. */
  registerLogExportLag(lags: () => Iterable<{ readonly target: LogTarget; readonly lagMs: number }>): void {
    new Gauge({
      name: "gateway_log_export_lag_seconds",
      help: "Age of the oldest request that is not exported to a target of the log.",
      labelNames: ["target"],
      registers: [this.#registry],
      collect() {
        for (const { target, lagMs } of lags()) this.set({ target }, lagMs / 1000);
      },
    });
  }

  /** `handshake`: the peer has no valid instance key. */
  recordPeerRejection(why: "handshake" | "path" | "node" | "full"): void {
    this.#peerRejections.add(`why="${why}"`, 1);
  }

  recordTokenRejection(why: (typeof TOKEN_REJECTIONS)[number]): void {
    this.#tokenRejections.add(`why="${why}"`, 1);
  }

  recordUnsolicitedBytes(pool: (typeof UPSTREAM_POOLS)[number]): void {
    this.#unsolicitedBytes.add(`pool="${pool}"`, 1);
  }

  recordTelemetryExport(signal: Signal, result: ExportResult): void {
    this.#telemetry.add(`signal="${signal}",result="${result}"`, 1);
  }

  recordTelemetryDrop(signal: Signal, count: number): void {
    this.#telemetryDropped.add(signalLabels(signal), count);
  }

  recordAlertDelivery(channel: Channel, result: AlertDeliveryOutcome): void {
    this.#alerts.add(alertLabels(channel, result), 1);
  }

  recordDetector(result: DetectorResult, durationMs: number): void {
    this.#detectors.add(`result="${result}"`, 1);
    if (result !== "not_permitted") this.#detectorSeconds.observe("", durationMs / 1000);
  }

  recordProof({ surface, result, inputTokens, outputTokens }: SurfaceProof, provider: string): void {
    const labels = `provider="${provider}"`;
    this.#proofs.add(`surface="${surface}",${labels},result="${result}"`, 1);
    if (inputTokens !== null) this.#proofTokens.add(`${labels},kind="input"`, inputTokens);
    if (outputTokens !== null) this.#proofTokens.add(`${labels},kind="output"`, outputTokens);
  }

  registerUnprovenGauge(unproven: () => number): void {
    const help = "Connected endpoints that are not proven on a surface, and so not served there.";
    registerGauge("gateway_endpoints_unproven", help, unproven, this.#registry);
  }

  get #series(): readonly (CounterSeries | HistogramSeries)[] {
    return [
      ...Object.values(this.requestSeries),
      this.#retries,
      this.#retryBudgetExhausted,
      this.#skippedEndpoints,
      this.#queueRejections,
      this.#catalogueErrors,
      this.#credentialRejections,
      this.#usageReplaced,
      this.#peerRejections,
      this.#tokenRejections,
      this.#unsolicitedBytes,
      this.#alerts,
      this.#detectors,
      this.#detectorSeconds,
      this.#proofs,
      this.#proofTokens,
      this.#logExport,
      this.#logExportFailures,
      this.#telemetry,
      this.#telemetryDropped,
      ...Object.values(this.genaiSeries),
    ];
  }

  /** For exporters of other formats. */
  async snapshot(): Promise<{ readonly series: readonly SeriesSnapshot[]; readonly gauges: readonly GaugeSnapshot[] }> {
    const gauges = await this.#registry.getMetricsAsJSON();
    return {
      series: this.#series.map((series) => series.snapshot()),
      gauges: gauges.map(({ name, help, values }) => ({
        name,
        help,
        values: values.map(({ labels, value }) => ({ labels: { ...labels }, value })),
      })),
    };
  }

  async render(): Promise<{ readonly contentType: string; readonly body: string }> {
    const texts = [...this.#series.map((series) => prometheusText(series.snapshot())), await this.#registry.metrics()];
    return { contentType: this.#registry.contentType, body: texts.join("\n\n") };
  }
}

const queueRejectionLabels = (why: (typeof QUEUE_REJECTION_REASONS)[number]) => `why="${why}"`;
const logExportLabels = (target: LogTarget, result: LogExportOutcome) => `target="${target}",result="${result}"`;
const alertLabels = (channel: Channel, result: AlertDeliveryOutcome) => `channel="${channel}",result="${result}"`;
const signalLabels = (signal: Signal) => `signal="${signal}"`;

function registerGauge(name: string, help: string, read: () => number, registry: Registry): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}
