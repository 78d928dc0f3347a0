import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { PROJECT_ROOT } from "../../src/settings/config.ts";
import { eventually } from "../support/eventually.ts";
import { type Json, startGateway, type TestGateway } from "../support/gateway.ts";
import { hasPrometheus, type Prometheus, promtool, startPrometheus } from "../support/prometheus.ts";

const read = (file: string) => readFileSync(path.join(PROJECT_ROOT, file), "utf8");
const ALERTS = path.join(PROJECT_ROOT, "deploy/observe/alerts.yml");
const DASHBOARDS = path.join(PROJECT_ROOT, "deploy/observe/grafana");

/** A value per minute in Prometheus' short form (`1x5` is six times 1, `_` is no value). */
type Scene = {
  readonly about: string;
  readonly series: Readonly<Record<string, string>>;
  readonly minute: number;
  /** All alerts that fire then. */
  readonly fires: readonly string[];
};

const requests = (status: number, code = "none", provider = "acme") =>
  `gateway_inference_requests_total{surface="chat",provider="${provider}",status="${status}",code="${code}"}`;
const attempts = (outcome: string) => `gateway_attempts_total{provider="acme",outcome="${outcome}"}`;
const refused = 'gateway_credential_refusals_total{provider="acme",status="401"}';
const unclaimed = 'gateway_catalogue_errors_total{provider="acme",parameter="logprobs"}';
const replaced = (why: string) => `gateway_figures_replaced_total{provider="acme",why="${why}"}`;
const slow = (le: string) => `gateway_overhead_seconds_bucket{le="${le}"}`;
const at = (name: string, instance: string) => `${name}{instance="${instance}"}`;

const SCENES: readonly Scene[] = [
  {
    about: "nothing happens",
    series: {
      'up{job="inference-gateway",instance="a"}': "1x30",
      gateway_journal_broken: "0x30",
      gateway_shared_state_open: "1x30",
      gateway_leads: "1x30",
      gateway_instances: "1x30",
      gateway_uptime_seconds: "0+60x30",
      gateway_journal_pending_records: "12x30",
      gateway_journal_set_aside: "0x30",
      gateway_endpoints_aside: "0x30",
      gateway_endpoints_unproven: "0x30",
      [requests(200)]: "0+100x30",
      [requests(400, "invalid_parameter")]: "0+10x30",
      [attempts("served")]: "0+100x30",
      'gateway_queue_refusals_total{why="full"}': "0x30",
      'gateway_alert_deliveries_total{channel="mail",result="failed"}': "0x30",
      'gateway_log_export_records_total{target="files",result="lost"}': "0x30",
      'gateway_telemetry_dropped_total{signal="traces"}': "0x30",
      [slow("0.05")]: "0+100x30",
      [slow("+Inf")]: "0+100x30",
      gateway_event_loop_utilization: "0.4x30",
      gateway_resident_memory_bytes: "2e8x30",
    },
    minute: 30,
    fires: [],
  },
  {
    about: "one of two instances does not answer",
    series: {
      'up{job="inference-gateway",instance="a"}': "1x10",
      'up{job="inference-gateway",instance="b"}': "1x5 0x5",
    },
    minute: 9,
    fires: ["GatewayDown"],
  },
  {
    about: "an instance restarts within a minute",
    series: { 'up{job="inference-gateway",instance="a"}': "1x5 0 1x5" },
    minute: 7,
    fires: [],
  },
  {
    about: "a journal is broken",
    series: { gateway_journal_broken: "0x3 1x5" },
    minute: 6,
    fires: ["GatewayJournalBroken"],
  },
  {
    about: "Redis is away for one of two",
    series: { [at("gateway_shared_state_open", "a")]: "1x10", [at("gateway_shared_state_open", "b")]: "1x3 0x5" },
    minute: 6,
    fires: ["GatewaySharedStateAway"],
  },
  {
    about: "the first request that is refused as unavailable",
    series: { [requests(503, "service_unavailable")]: "_x5 1x10", [requests(200)]: "0+100x20" },
    minute: 9,
    fires: ["GatewayUnavailable"],
  },
  {
    about: "another one, long after",
    series: { [requests(503, "service_unavailable")]: "1x20 2x10", [requests(200)]: "0+100x40" },
    minute: 24,
    fires: ["GatewayUnavailable"],
  },
  {
    about: "one that was long ago",
    series: { [requests(503, "service_unavailable")]: "1x40", [requests(200)]: "0+100x40" },
    minute: 20,
    fires: [],
  },
  {
    about: "the gateway fails by its own fault, again and again",
    series: { [requests(500, "internal_error")]: "_x5 1+1x20", [requests(200)]: "0+100x30" },
    minute: 14,
    fires: ["GatewayInternalErrors"],
  },
  {
    about: "one request in ten ends with 5xx",
    series: { [requests(502, "provider_error")]: "0+10x30", [requests(200)]: "0+90x30" },
    minute: 25,
    fires: ["GatewayServerErrors"],
  },
  {
    about: "all requests end with 5xx from the start",
    series: { [requests(502, "provider_error")]: "0+10x30" },
    minute: 25,
    fires: ["GatewayServerErrors"],
  },
  {
    about: "an address is throttled after wrong operator tokens",
    series: { 'gateway_operator_token_rejections_total{why="throttled"}': "0x10 1x10" },
    minute: 12,
    fires: ["GatewayOperatorTokenGuessed"],
  },
  {
    about: "a few wrong operator tokens",
    series: {
      'gateway_operator_token_rejections_total{why="wrong"}': "0x5 9x20",
      'gateway_operator_token_rejections_total{why="throttled"}': "0x25",
    },
    minute: 12,
    fires: [],
  },
  {
    about: "none of two leads",
    series: { [at("gateway_leads", "a")]: "0x10", [at("gateway_leads", "b")]: "0x10" },
    minute: 6,
    fires: ["GatewayNoLeader"],
  },
  {
    about: "two lead",
    series: { [at("gateway_leads", "a")]: "1x20", [at("gateway_leads", "b")]: "1x20" },
    minute: 12,
    fires: ["GatewayTwoLeaders"],
  },
  {
    about: "two that do not see each other",
    series: {
      [at("gateway_instances", "a")]: "1x20",
      [at("gateway_instances", "b")]: "2x20",
      [at("gateway_uptime_seconds", "a")]: "0+60x20",
      [at("gateway_uptime_seconds", "b")]: "0+60x20",
    },
    minute: 12,
    fires: ["GatewayInstancesApart"],
  },
  {
    about: "records wait for the store",
    series: { gateway_journal_pending_records: "20000x20" },
    minute: 12,
    fires: ["GatewayJournalBehind"],
  },
  {
    about: "a record was dead-lettered",
    series: { gateway_journal_set_aside: "0x2 1x5" },
    minute: 4,
    fires: ["GatewayJournalSetAside"],
  },
  {
    about: "a provider never served",
    series: { [attempts("next")]: "0+5x30" },
    minute: 25,
    fires: ["GatewayProviderFailing"],
  },
  {
    about: "a provider serves two of three",
    series: { [attempts("next")]: "0+5x30", [attempts("served")]: "0+10x30" },
    minute: 25,
    fires: [],
  },
  {
    about: "an endpoint stays aside",
    series: { gateway_endpoints_aside: "1x40" },
    minute: 35,
    fires: ["GatewayEndpointsAside"],
  },
  {
    about: "a credential is refused for the first time",
    series: { [refused]: "_x5 1x10" },
    minute: 6,
    fires: ["GatewayCredentialRefused"],
  },
  {
    about: "and again after an hour",
    series: { [refused]: "1x60 2x10" },
    minute: 63,
    fires: ["GatewayCredentialRefused"],
  },
  {
    about: "a provider rejects a parameter that the catalogue claims",
    series: { [unclaimed]: "_x5 1x10" },
    minute: 6,
    fires: ["GatewayCatalogueError"],
  },
  { about: "but not an hour after", series: { [refused]: "1x70" }, minute: 65, fires: [] },
  {
    about: "figures of a provider cannot be true for the first time",
    series: { [replaced("impossible")]: "_x30 1x10", [replaced("none")]: "1x40" },
    minute: 32,
    fires: ["GatewayFiguresImpossible"],
  },
  {
    about: "and are missing after an hour",
    series: { [replaced("none")]: "1x60 2x10", [replaced("impossible")]: "1x70" },
    minute: 63,
    fires: ["GatewayFiguresMissing"],
  },
  {
    about: "an endpoint is not proven for a day",
    series: { gateway_endpoints_unproven: "1x400" },
    minute: 390,
    fires: ["GatewayEndpointsUnproven"],
  },
  {
    about: "the queue is full",
    series: { 'gateway_queue_refusals_total{why="full"}': "0x5 1+3x20" },
    minute: 14,
    fires: ["GatewayQueueFull"],
  },
  {
    about: "two of a hundred requests are slow",
    series: { [slow("0.05")]: "0+98x30", [slow("0.1")]: "0+100x30", [slow("+Inf")]: "0+100x30" },
    minute: 25,
    fires: ["GatewaySlow"],
  },
  {
    about: "an instance is busy",
    series: {
      [at("gateway_event_loop_utilization", "a")]: "0.97x20",
      [at("gateway_event_loop_utilization", "b")]: "0.2x20",
    },
    minute: 15,
    fires: ["GatewayEventLoopBusy"],
  },
  { about: "memory", series: { gateway_resident_memory_bytes: "2e9x30" }, minute: 20, fires: ["GatewayMemory"] },
  {
    about: "callers have no credit",
    series: { [requests(402, "insufficient_credit", "none")]: "0+30x40", [requests(200)]: "0+70x40" },
    minute: 35,
    fires: ["GatewayRefusedForMoney"],
  },
  {
    about: "an alert of a workspace is given up",
    series: { 'gateway_alert_deliveries_total{channel="mail",result="failed"}': "0x5 1x20" },
    minute: 8,
    fires: ["GatewayAlertsUndelivered"],
  },
  {
    about: "the export of the log is behind",
    series: { 'gateway_log_export_lag_seconds{target="otlp"}': "900x20" },
    minute: 15,
    fires: ["GatewayLogExportBehind"],
  },
  {
    about: "records of the log are lost",
    series: { 'gateway_log_export_records_total{target="otlp",result="lost"}': "0x5 7x20" },
    minute: 8,
    fires: ["GatewayLogExportLost"],
  },
  {
    about: "telemetry is dropped",
    series: { 'gateway_telemetry_dropped_total{signal="traces"}': "0x5 1+5x30" },
    minute: 30,
    fires: ["GatewayTelemetryDropped"],
  },
];

/** promtool's result for a scenario: empty when exactly these fire. */
function judged(folder: string, { series, minute, fires }: Scene): string {
  const file = path.join(folder, "scene.yml");
  const scene = {
    interval: "1m",
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [
      {
        expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: `${minute}m`,
        exp_samples: fires.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
      },
    ],
  };
  writeFileSync(file, stringify({ rule_files: [ALERTS], evaluation_interval: "1m", tests: [scene] }));
  const { isFine, output } = promtool(["test", "rules", file]);
  return isFine ? "" : output;
}

describe.skipIf(!hasPrometheus)("alert rules, by promtool", () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "gateway-rules-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("OPS-02 are valid", () => {
    const { isFine, output } = promtool(["check", "rules", ALERTS]);
    expect(isFine, output).toBe(true);
  });

  test("OPS-02 names, types and descriptions of metrics are valid", async () => {
    const gateway = await startGateway();
    const { text } = await gateway.call("", "/metrics");
    await gateway.close();
    expect(promtool(["check", "metrics"], text)).toEqual({ isFine: true, output: "" });
  });

  test("OPS-02 every alert has a scenario in which it fires", () => {
    const alerts = parse(read("deploy/observe/alerts.yml")).groups.flatMap(({ rules }: Json) => rules);
    const seen = new Set(SCENES.flatMap(({ fires }) => fires));
    expect(alerts.map(({ alert }: Json) => alert).filter((alert: string) => !seen.has(alert))).toEqual([]);
  });

  test.each(SCENES)("OPS-02 $about: $fires", (scene) => {
    expect(judged(folder, scene)).toBe("");
  });
});

/** As Grafana queries it, for all instances. */
const substituted = (expression: string) =>
  expression.replaceAll("$__rate_interval", "1m").replaceAll("$__range", "1m").replaceAll("$instance", ".*");

/** Panels about events that did not happen. */
const UNTIL_SOMETHING_FAILS = [
  "402 by code",
  "429 and 503 by code",
  "Errors by code",
  "Failures by kind",
  "Retries",
  "Passed over",
  "Retry budget spent",
];

describe.skipIf(!hasPrometheus)("a running Prometheus", () => {
  let gateway: TestGateway;
  let prometheus: Prometheus;
  const body = { model: "sandbox/chat", messages: [{ role: "user", content: "Hello!" }], stream: true };

  /** The configuration of the guide, with the address and token of this gateway. */
  beforeAll(async () => {
    gateway = await startGateway();
    const [, printed = ""] = /```yaml\n(scrape_configs:.*?)```/s.exec(read("docs/guides/observability.md")) ?? [];
    const { scrape_configs } = parse(printed);
    const [job] = scrape_configs;
    prometheus = await startPrometheus({
      global: { scrape_interval: "500ms", scrape_timeout: "500ms", evaluation_interval: "500ms" },
      rule_files: [ALERTS],
      scrape_configs: [
        {
          ...job,
          authorization: { credentials_file: path.join(gateway.dataDir, "admin-token") },
          static_configs: [{ targets: [new URL(gateway.url).host] }],
        },
      ],
    });
  }, 60_000);
  afterAll(async () => {
    await prometheus?.close();
    await gateway?.close();
  });

  test("OPS-02 scrapes all metrics of the gateway, and its rules evaluate", async () => {
    await eventually(async () => {
      const { activeTargets } = await prometheus.ask("targets");
      expect(activeTargets.map(({ health, lastError }: Json) => [health, lastError])).toEqual([["up", ""]]);
      const { groups } = await prometheus.ask("rules");
      const rules = groups.flatMap((group: Json) => group.rules);
      expect(
        rules.filter(({ health }: Json) => health !== "ok").map(({ name, lastError }: Json) => [name, lastError]),
      ).toEqual([]);
      expect(rules.length).toBeGreaterThan(20);
    }, 30_000);
  });

  test("OPS-02 returns a result for every dashboard query", async () => {
    const { key } = await gateway.tenant();
    const served = async () =>
      Number(
        (await prometheus.ask("query", { query: "sum(increase(gateway_tokens_total[1m]))" })).result[0]?.value[1] ?? 0,
      );
    await eventually(
      async () => {
        expect((await gateway.call(key, "/v1/chat/completions", { body })).status).toBe(200);
        expect(await served()).toBeGreaterThan(0);
      },
      { timeout: 30_000, interval: 500 },
    );
    const panels: Json[] = readdirSync(DASHBOARDS).flatMap(
      (file) => JSON.parse(readFileSync(path.join(DASHBOARDS, file), "utf8")).panels,
    );
    const silent = async () => {
      const titles = [];
      for (const { type, title, fieldConfig, targets = [] } of panels) {
        const answers = await Promise.all(
          targets.map(({ expr }: Json) => prometheus.ask("query", { query: substituted(expr) })),
        );
        const isEmpty = targets.length > 0 && answers.every(({ result }) => result.length === 0);
        // A missing number looks broken although all is well.
        if (isEmpty && (type !== "stat" || fieldConfig.defaults.noValue === undefined)) titles.push(title);
      }
      return titles;
    };
    // A rate has its first value with the second successful scrape.
    await eventually(async () => expect(await silent()).toEqual(UNTIL_SOMETHING_FAILS), {
      timeout: 30_000,
      interval: 500,
    });
  });
});
