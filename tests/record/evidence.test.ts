import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EvidenceView } from "../../src/contract/schemas/manage-evidence.ts";
import { type Json, startGateway, type TestGateway } from "../support/gateway.ts";
import { nanosOf } from "../support/scene.ts";

const NAME = `<script>alert("x")</script> & 'Research'`;

let gateway: TestGateway;
let live: Json;
let strict: Json;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_RPM_IP: "0", GATEWAY_RPM_LIVE: "100000" } });
  await gateway.manage("POST", "/workspaces", { slug: "research", name: NAME });
  await gateway.manage("POST", "/workspaces/research/wallet/credits", { amount: "50" });
  live = await gateway.manage("POST", "/workspaces/research/keys", { name: "live" });
  const test = await gateway.manage("POST", "/workspaces/research/keys", { name: "test", environment: "test" });
  strict = await gateway.manage("POST", "/workspaces/research/keys", { name: "strict", policy: { floor: "L3" } });
  await ask(live.key, 3);
  await ask(test.key, 1);
  await gateway.manage("PATCH", "/workspaces/research/policy", { floor: "L2", countries: ["DE", "FR"] });
  await ask(live.key, 2);
  await ask(strict.key, 1);
  await gateway.manage("PUT", "/workspaces/research/routers/swift", { weights: { latency: 1 } });
  await ask(live.key, 1, "@research/swift");
  await gateway.manage("POST", "/workspaces/research/capture-windows", { minutes: 5, reason: "<b>why</b>" });
  await gateway.manage("PATCH", "/workspaces/research/policy", { floor: "L4" });
  await ask(live.key, 2, "sandbox/chat", 403);
});
afterAll(() => gateway.close());

async function ask(key: string, times: number, model = "sandbox/chat", status = 200): Promise<void> {
  for (let n = 0; n < times; n += 1) {
    const body = { model, messages: [{ role: "user", content: "Hello." }] };
    const answer = await gateway.call(key, "/v1/chat/completions", { body });
    expect(answer.status, answer.text).toBe(status);
  }
}

const report = (query = ""): Promise<Json> => gateway.manage("GET", `/workspaces/research/evidence${query}`);

describe("the evidence report", () => {
  test("LOG-05 states who served how much, at which level, where and under which policy version", async () => {
    const evidence = await report();
    expect(EvidenceView.parse(evidence)).toEqual(evidence);
    const rows: Json[] = (await gateway.manage("GET", "/workspaces/research/requests?limit=1000")).data;
    const served = rows.filter(({ endpoint }) => endpoint !== null);
    expect(evidence.totals).toMatchObject({
      requests: rows.length,
      served: served.length,
      refused_by_policy: 2,
      failed: 0,
    });
    const sum = (list: Json[], at: (row: Json) => number) => list.reduce((all, row) => all + at(row), 0);
    expect(sum(evidence.served, ({ served }) => served)).toBe(served.length);
    expect(sum(evidence.served, ({ input_tokens }) => input_tokens)).toBe(
      sum(served, ({ usage }) => usage.input_tokens),
    );
    expect(sum(evidence.served, ({ output_tokens }) => output_tokens)).toBe(
      sum(served, ({ usage }) => usage.output_tokens),
    );
    const cost = (list: Json[]) => list.reduce((all, row) => all + nanosOf(row.cost), 0n);
    expect(cost(evidence.served)).toBe(cost(served));
    expect(nanosOf(evidence.totals.cost)).toBe(cost(served));
    const under = (version: number) => evidence.served.filter((row: Json) => row.policy_version === version);
    expect(sum(under(1), (row) => row.served)).toBe(4);
    expect(sum(under(2), (row) => row.served)).toBe(4);
    expect(under(3)).toEqual([]);
    for (const row of under(2)) {
      expect(["L2", "L3", "L4"]).toContain(row.level);
      expect(["DE", "FR"]).toEqual(expect.arrayContaining(row.countries));
    }
    expect(evidence.refused).toEqual([{ policy_version: 3, rule: "sovereignty_floor_not_met", requests: 2 }]);
    const { policies } = await gateway.manage("GET", `/requests/${rows.at(-1)?.id}`);
    expect(policies).toMatchObject([{ subject: "workspace", version: 1, policy: { floor: null } }]);
  });

  test("LOG-04 separates test traffic: levels, countries and providers count live requests", async () => {
    const evidence = await report();
    const live = evidence.served.filter((row: Json) => row.environment === "live");
    const test = evidence.served.filter((row: Json) => row.environment === "test");
    const count = (list: Json[]) => list.reduce((all, row) => all + row.served, 0);
    expect([count(live), count(test)]).toEqual([7, 1]);
    for (const groups of ["by_level", "by_country", "by_provider"]) expect(count(evidence[groups])).toBe(7);
  });

  test("LOG-05 has every version of workspace, key and router with its time and exclusions", async () => {
    const { policies, routers } = await report();
    const own = policies.filter(({ subject }: Json) => subject === "workspace");
    expect(own.map(({ version, policy, requests }: Json) => [version, policy.floor, requests])).toEqual([
      [1, null, 4],
      [2, "L2", 4],
      [3, "L4", 2],
    ]);
    expect(own[0].in_force_until).toBe(own[1].in_force_from);
    expect(own[2].in_force_until).toBeNull();
    expect(own[0].excluded).toEqual([]);
    const floored = own[2].excluded.find(({ rule }: Json) => rule === "sovereignty_floor_not_met");
    expect(floored.providers).toContain("sandbox-us");
    const keyed = policies.filter(({ subject }: Json) => subject === "key");
    expect(keyed).toMatchObject([{ key_id: strict.id, key_name: "strict", version: 1, requests: 1 }]);
    expect(routers).toMatchObject([{ slug: "swift", version: 1, requests: 1, in_force_until: null }]);
  });

  test("LOG-05 the level of each endpoint has dated sources; capture windows and retention are named", async () => {
    const evidence = await report();
    for (const one of evidence.evidence) {
      expect(one).toMatchObject({ in_catalogue: true, level: one.recorded_levels[0] });
      for (const source of one.sources) expect(source.read).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    }
    expect(evidence.evidence.map(({ endpoint }: Json) => endpoint)).toEqual(
      [...new Set(evidence.served.map(({ endpoint }: Json) => endpoint))].toSorted(),
    );
    expect(evidence.capture_windows).toMatchObject([{ reason: "<b>why</b>", opened_by: "operator" }]);
    expect(evidence.stored_responses).toEqual({ allowed: true, retention: "30d" });
  });

  test("LOG-05 covers exactly its period, and refuses one out of bounds by name", async () => {
    const times: string[] = (await gateway.manage("GET", "/workspaces/research/requests?limit=1000")).data.map(
      ({ created_at }: Json) => created_at,
    );
    const [newest = ""] = times;
    const before = await report(`?to=${encodeURIComponent(newest)}`);
    // The previous one may have the same millisecond.
    expect(before.totals.requests).toBe(times.filter((time) => time < newest).length);
    const past = await report("?from=2020-01-01&to=2020-02-01");
    expect(past).toMatchObject({
      served: [],
      policies: [],
      capture_windows: [],
      totals: { requests: 0, cost: "0.00" },
    });
    const [from, to] = [0, 60_000].map((ms) => new Date(Date.now() + ms).toISOString());
    const { policies } = await report(`?from=${from}&to=${to}`);
    expect(policies.map(({ subject, version }: Json) => [subject, version])).toEqual([
      ["workspace", 3],
      ["key", 1],
    ]);
    for (const [query, param] of [
      ["?from=2026-02-01&to=2026-01-01", "from"],
      ["?from=2020-01-01&to=2026-01-01", "from"],
      ["?from=yesterday", "from"],
      ["?format=pdf", "format"],
    ]) {
      const refused = await gateway.call(gateway.adminToken, `/manage/workspaces/research/evidence${query}`);
      expect([refused.status, refused.body.error.param], query).toEqual([400, param]);
    }
    const foreign = await gateway.call(live.key, "/manage/workspaces/research/evidence");
    expect(foreign.status).toBe(401);
  });

  test("LOG-05 the page has the same figures, no scripts or external resources, and escapes input", async () => {
    const answer = await gateway.call(gateway.adminToken, "/manage/workspaces/research/evidence?format=html");
    expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(answer.text).not.toMatch(/<script|<b>why|src=|href=|url\(|@import/i);
    expect(answer.text).toContain("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; &#39;Research&#39;");
    expect(answer.text).toContain("&lt;b&gt;why&lt;/b&gt;");
    const evidence = await report();
    for (const { endpoint } of evidence.served) expect(answer.text).toContain(endpoint);
    expect(answer.text).toContain(evidence.totals.cost);
  });

  test("LOG-05 the command line prints it and writes the page to a file", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "gateway-evidence-"));
    try {
      const file = path.join(folder, "report.html");
      const written = await gateway.cli("evidence", "research", "--from", "2026-01-01", "--html", file);
      expect([written.code, written.stderr]).toEqual([0, `Report written to ${file}.\n`]);
      expect(readFileSync(file, "utf8")).toMatch(/^<!doctype html>/);
      const printed = await gateway.cli("--json", "evidence", "research");
      expect(printed.json).toMatchObject({ workspace: { slug: "research" }, totals: { refused_by_policy: 2 } });
      const shown = await gateway.cli("evidence", "research");
      expect(shown.stdout).toContain("sovereignty_floor_not_met");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
