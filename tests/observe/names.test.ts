import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { FAULTS } from "../../src/contract/faults.ts";
import { PROJECT_ROOT, SETTINGS } from "../../src/settings/config.ts";
import { type Json, startGateway } from "../support/gateway.ts";

const read = (file: string) => readFileSync(path.join(PROJECT_ROOT, file), "utf8");
const filesIn = (folder: string) => readdirSync(path.join(PROJECT_ROOT, folder)).map((name) => `${folder}/${name}`);

const DASHBOARDS = filesIn("deploy/observe/grafana");
const ALERTS = "deploy/observe/alerts.yml";
const GUIDES = filesIn("docs/guides");

const expressionsOf = (file: string): string[] =>
  [...read(file).matchAll(/"expr": ("(?:[^"\\]|\\.)*")/g)].map(([, text = '""']) => JSON.parse(text));
const rules = (): Json[] => parse(read(ALERTS)).groups.flatMap((group: Json) => group.rules);
const expressions = (): string[] => [...DASHBOARDS.flatMap(expressionsOf), ...rules().map(({ expr }) => expr)];

/** Series names in a text; a histogram's series are its own. */
const seriesIn = (text: string): string[] => text.match(/\b(?:gateway|gen_ai)_[a-z_]+(?![a-z_=!~]*\s*[=!]~?")/g) ?? [];

describe("names in dashboards, alerts and guides", () => {
  const types = new Map<string, string>();
  const atZero: string[] = [];
  const labels = new Set(["le", "instance", "job"]);
  const byProvider = new Set<string>();

  beforeAll(async () => {
    const gateway = await startGateway();
    const { text } = await gateway.call("", "/metrics");
    await gateway.close();
    for (const [, name = "", type = ""] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) types.set(name, type);
    for (const [, series = ""] of text.matchAll(/^(\S+) 0$/gm)) atZero.push(series);
    for (const [, name = "", row = ""] of read("docs/metrics.md").matchAll(/^\| `(\w+)` \| \w+ \| (.*?) ?\|/gm)) {
      for (const [, label = ""] of row.matchAll(/`(\w+)`/g)) labels.add(label);
      if (row.includes("`provider`")) byProvider.add(name);
    }
  });

  const isThere = (series: string): boolean => {
    const histogram = series.replace(/_(?:bucket|sum|count)$/, "");
    return types.has(series) ? types.get(series) !== "histogram" : types.get(histogram) === "histogram";
  };

  test("OPS-02 every series of a dashboard or alert exists in a running gateway, with its labels", () => {
    expect(expressions().length).toBeGreaterThan(70);
    for (const expression of expressions()) {
      const bare = expression.replace(/\{[^}]*\}|\b(?:by|without) \([^)]*\)/g, "");
      const named = seriesIn(bare);
      expect([...named, ...(bare.match(/\bup\b/) ?? [])], expression).not.toEqual([]);
      expect(
        named.filter((series) => !isThere(series)),
        expression,
      ).toEqual([]);
      const matched = [...expression.matchAll(/([a-z_]+)\s*(?:=~|!~|!=|=)\s*"/g)].map(([, label = ""]) => label);
      const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = ""]) => list.split(/,\s*/));
      expect(
        [...matched, ...grouped].filter((label) => !labels.has(label)),
        expression,
      ).toEqual([]);
      for (const [, code = ""] of expression.matchAll(/code="([a-z_]+)"/g)) expect(Object.keys(FAULTS)).toContain(code);
      expect(expression.split("(").length, expression).toBe(expression.split(")").length);
    }
  });

  /** Prometheus sees no increase in a series that begins with its first event, as those of a provider do. */
  test("OPS-02 an alert on any increase of a counter sees its first event", () => {
    const increases = rules().flatMap(({ expr }: { readonly expr: string }) =>
      [...expr.matchAll(/\b(?:increase|rate)\((gateway_\w+)(\{[^}]*\})?\[(\w+)\]\)+ > 0(?![.\d])/g)].map(
        ([, name = "", labelled = "", window = ""]) => ({ expr, name, labelled, window }),
      ),
    );
    expect(increases.length).toBeGreaterThan(5);
    for (const { expr, name, labelled, window } of increases) {
      const stands = (series: string) =>
        series.startsWith(`${name}{`) && (labelled.match(/\w+="\w+"/g) ?? []).every((pair) => series.includes(pair));
      const isNew = `${name}${labelled} unless ${name}${labelled} offset ${window}`;
      expect(byProvider.has(name) ? expr.includes(isNew) : atZero.some(stands), expr).toBe(true);
    }
  });

  test("OPS-02 an alert on a ratio divides by all: when everything fails, nothing else is counted", () => {
    const shares = rules().filter(({ expr }) => expr.includes(" / "));
    expect(shares.length).toBeGreaterThan(2);
    for (const { expr } of shares) expect(expr).toMatch(/ > 0\.\d+\s*\)?\s*$/);
  });

  test.each(DASHBOARDS)("%s: panels have a position, a data source and a query", (file) => {
    const { uid, title, panels, templating } = JSON.parse(read(file));
    expect([uid, title].every((text) => typeof text === "string" && text !== "")).toBe(true);
    expect(templating.list.map(({ name }: Json) => name)).toEqual(["datasource", "instance"]);
    expect(new Set(panels.map(({ id }: Json) => id)).size).toBe(panels.length);
    for (const panel of panels) {
      expect(panel.gridPos.x + panel.gridPos.w, panel.title).toBeLessThanOrEqual(24);
      if (panel.type === "row") continue;
      expect(panel.targets.length, panel.title).toBeGreaterThan(0);
      for (const { datasource } of [panel, ...panel.targets]) expect(datasource.uid).toMatch(/^\$\{datasource\}$/);
    }
  });

  test("OPS-02 every alert has a summary and a runbook section, and the runbook no other", () => {
    const headings = [...read("docs/guides/alerts-runbook.md").matchAll(/^## (\w+)$/gm)].map(([, name]) => name);
    expect(headings.shift()).toBe("Contents");
    expect(headings).toEqual(rules().map(({ alert }) => alert));
    for (const { alert, labels: put, annotations } of rules()) {
      expect(["critical", "warning", "info"]).toContain(put.severity);
      expect(annotations.summary.length).toBeGreaterThan(20);
      expect(annotations.runbook).toBe(`docs/guides/alerts-runbook.md#${alert.toLowerCase()}`);
    }
  });

  test.each(GUIDES)("OPS-02 OPS-05 %s: the metrics and settings it names exist", (guide) => {
    const named = read(guide).match(/\bgateway_[a-z_]+(?<!_)\b(?!\*)/g) ?? [];
    const metrics = named.filter((name) => /_(?:total|seconds|bytes|records|requests)$/.test(name));
    expect(metrics.filter((series) => !isThere(series) && !types.has(series))).toEqual([]);
    const settings = read(guide).match(/\b(?:GATEWAY|OTEL)_[A-Z_]*[A-Z]\b(?!_|\*)/g) ?? [];
    // Of the command line, and of a node agent.
    const others = new Set(["GATEWAY_KEY", "GATEWAY_URL", "GATEWAY_NODE_TOKEN"]);
    const known = (name: string) => Object.hasOwn(SETTINGS, name.replace(/_FILE$/, "")) || others.has(name);
    expect([...new Set(settings)].filter((name) => !known(name))).toEqual([]);
  });
});
