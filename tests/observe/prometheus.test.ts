import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { PROJECT_ROOT } from "../../src/settings/config.ts";
import { eventually } from "../support/eventually.ts";
import { type Json, startGateway, type TestGateway } from "../support/gateway.ts";
import { hasPrometheus, type Prometheus, promtool, startPrometheus } from "../support/prometheus.ts";

const read = (file: string) => readFileSync(path.join(PROJECT_ROOT, file), "utf8");
const ALERTS = path.join(PROJECT_ROOT, "deploy/observe/alerts.yml");
const DASHBOARDS = path.join(PROJECT_ROOT, "deploy/observe/grafana");
const ALERT_TESTS = path.join(PROJECT_ROOT, "deploy/observe/alerts.test.yml");

describe.skipIf(!hasPrometheus)("alert rules, by promtool", () => {
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

  test("OPS-02 every alert has a scene in which it fires, and one in which others do not", () => {
    const alerts = parse(read("deploy/observe/alerts.yml")).groups.flatMap(({ rules }: Json) => rules);
    const expected = parse(read("deploy/observe/alerts.test.yml")).tests.map(
      ({ promql_expr_test: [{ exp_samples: samples }] }: Json) => samples.map(({ labels }: Json) => labels),
    );
    const seen = new Set(expected.flat());
    const unseen = alerts.filter(({ alert }: Json) => !seen.has(`{alertname="${alert}"}`));
    expect(unseen.map(({ alert }: Json) => alert)).toEqual([]);
    expect(expected.filter((names: string[]) => names.length === 0).length).toBeGreaterThan(5);
  });

  test("OPS-02 the unit tests of all rules pass", () => {
    const { isFine, output } = promtool(["test", "rules", ALERT_TESTS]);
    expect(isFine, output).toBe(true);
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
