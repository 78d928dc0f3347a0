import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json, Tenant } from "../support/gateway.ts";
import { openScene, type Provider, type Scene } from "../support/scene.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;
let receiver: Upstream;
/** L0 in the US; L3 in FR. */
const ALL: readonly Provider[] = ["deepinfra", "ovhcloud"];
const EMAIL = "jane.doe@mail.example.eu";

beforeAll(async () => {
  receiver = await startUpstream({ json: {} });
  scene = await openScene(ALL, { GATEWAY_WEBHOOK_PRIVATE: "on", GATEWAY_ALERTS_EVERY_MS: "10" });
  tenant = await scene.gateway.tenant();
  await scene.gateway.manage("PUT", at("/data-classes/acme-projects"), { terms: ["Atlas"] });
  await setPolicy({ personal: { action: "pseudonymise", below: "L3" }, "acme-projects": { action: "report" } });
  await ask("Nothing to find");
  await ask(`Write to ${EMAIL}`);
  await ask(`Atlas: ${EMAIL}`);
  await setPolicy({ personal: { floor: "L3" } });
  await ask(`Write to ${EMAIL}`);
  await setPolicy({ personal: { action: "block" } });
  await ask(`Write to ${EMAIL}`);
});
afterAll(async () => {
  await scene.close();
  await receiver.close();
});

const at = (path: string) => `/workspaces/${tenant.slug}${path}`;
const setPolicy = (rules: object) => scene.gateway.manage("PATCH", at("/policy"), { data_classes: rules });
const ask = (content: string) => scene.chat(tenant.key, { messages: [{ role: "user", content }] });
const SUMMARY = "4 requests with personal data: 2 pseudonymised at L0, 1 at L3, 1 served by no endpoint, 0 otherwise";

describe("reports of data classes", () => {
  test("CLASS-05 the log is filtered by class, and no row holds the data", async () => {
    const rowsWith = async (name: string) =>
      (await scene.gateway.manage("GET", at(`/requests?data_class=${name}`))).data as Json[];
    expect(await rowsWith("personal")).toHaveLength(4);
    expect(await rowsWith("acme-projects")).toHaveLength(1);
    expect(await rowsWith("projects")).toEqual([]);
    expect(await scene.rows(tenant)).toHaveLength(5);
    expect(JSON.stringify(await rowsWith("personal"))).not.toContain("jane");
    const { stdout } = await scene.gateway.cli("log", "list", tenant.slug, "--data-class", "acme-projects", "--json");
    expect(JSON.parse(stdout).data).toHaveLength(1);
  });

  test("CLASS-05 usage is grouped by the classes of requests", async () => {
    const { data } = await scene.gateway.manage("GET", at("/usage?group=data_class"));
    const counts = data.map(({ name, requests }: Json) => [name, requests]);
    expect(new Map(counts)).toEqual(
      new Map([
        ["acme-projects,personal", 1],
        ["personal", 3],
        [null, 1],
      ]),
    );
  });

  test("CLASS-05 the evidence report says at which level and how personal data was processed", async () => {
    const report = await scene.gateway.manage("GET", at("/evidence"));
    expect(report.data_classes).toEqual([
      {
        name: "personal",
        requests: 4,
        served: [
          { level: "L0", action: "pseudonymised", requests: 2 },
          { level: "L3", action: "none", requests: 1 },
        ],
        unserved: 1,
        summary: SUMMARY,
      },
      expect.objectContaining({ name: "acme-projects", requests: 1 }),
    ]);
    const page = await fetch(`${scene.gateway.url}/manage${at("/evidence?format=html")}`, {
      headers: { authorization: `Bearer ${scene.gateway.adminToken}` },
    });
    expect(await page.text()).toContain(SUMMARY);
  });

  test("CLASS-05 gateway data-class report prints the same, as a table and as JSON", async () => {
    const { stdout } = await scene.gateway.cli("data-class", "report", tenant.slug, "--json");
    expect(JSON.parse(stdout).data[0].summary).toBe(SUMMARY);
    expect((await scene.gateway.cli("data-class", "report", tenant.slug)).stdout).toContain(SUMMARY);
    const none = await scene.gateway.cli("data-class", "report", tenant.slug, "--to", "2020-01-01");
    expect(none.stdout).toContain("No request with a data class");
  });

  test("CLASS-05 metrics count requests by class and action, own classes under one label", async () => {
    const response = await fetch(`${scene.gateway.url}/metrics`, {
      headers: { authorization: `Bearer ${scene.gateway.adminToken}` },
    });
    const lines = (await response.text()).split("\n").filter((line) => line.startsWith("gateway_data_class_requests"));
    expect(lines.toSorted()).toEqual([
      'gateway_data_class_requests_total{class="custom",action="pseudonymised"} 1',
      'gateway_data_class_requests_total{class="personal",action="none"} 1',
      'gateway_data_class_requests_total{class="personal",action="pseudonymised"} 2',
      'gateway_data_class_requests_total{class="personal",action="unserved"} 1',
    ]);
  });

  test("CLASS-05 an alert names the class of the first such request of a day, and never its content", async () => {
    const webhook = `${receiver.url}/hook`;
    const set = await scene.gateway.cli(
      "alert",
      "set",
      tenant.slug,
      "--data-classes",
      "personal",
      "--webhook",
      webhook,
    );
    expect(set.stdout).toContain("personal");
    const before = receiver.requests.length;
    await ask(`Write to ${EMAIL}`);
    await ask(`Write to ${EMAIL} again`);
    const { json, raw } = await receiver.arrived(before + 1);
    expect(json).toMatchObject({ type: "data_class.found", data: { data_class: "personal" } });
    expect(String(raw)).not.toContain("jane");
    const { data } = await scene.gateway.manage("GET", at("/alerts/deliveries"));
    expect(data.map(({ type }: Json) => type)).toEqual(["data_class.found"]);
    const put = scene.gateway.manage("PUT", at("/alerts"), { data_classes: ["unknown-class"] });
    await expect(put).rejects.toThrow("there is no class");
  });
});
