import { readFileSync } from "node:fs";
import path from "node:path";
import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import { ROUTES } from "../../src/contract/routes.ts";
import { PROJECT_ROOT, SETTINGS } from "../../src/settings/config.ts";
import { problemsOf } from "../support/deployment-env.ts";
import type { Json } from "../support/gateway.ts";
import { openChart } from "../support/helm.ts";

const FOLDER = path.join(PROJECT_ROOT, "deploy/helm/inference-gateway");
const chart = openChart(FOLDER);
const EVERYTHING = {
  ingress: { enabled: true, className: "nginx", annotations: { "a/b": "off" } },
  autoscaling: { enabled: true },
  serviceMonitor: { enabled: true, labels: { release: "prometheus" } },
  networkPolicy: { from: [{ podSelector: {} }], metricsFrom: [{ podSelector: {} }] },
  image: { pullSecrets: [{ name: "pull" }], digest: `sha256:${"a".repeat(64)}` },
  persistence: { storageClass: "fast" },
  podLabels: { team: "platform" },
  podAnnotations: { note: "yes" },
  nodeSelector: { disk: "ssd" },
  tolerations: [{ key: "dedicated", operator: "Exists" }],
  affinity: { nodeAffinity: {} },
  secretSettings: ["DATABASE_URL", "DATABASE_MIGRATION_URL", "REDIS_URL", "GATEWAY_ADMIN_TOKEN", "GATEWAY_MASTER_KEY"],
};
const LEAST = { replicas: 1, secretSettings: [], networkPolicy: { enabled: false }, serviceAccountName: "own" };

const objectsOf = (values: object): Map<string, Json> => chart.render(values);
const podOf = (values: object) => objectsOf(values).get("StatefulSet/gw").spec.template.spec;
const envOf = (values: object): Record<string, string> =>
  Object.fromEntries(podOf(values).containers[0].env.map(({ name, value }: Json) => [name, value ?? "gw-0"]));

describe("the chart", () => {
  test("its values match its schema, which rejects typos", () => {
    const validate = new Ajv({ strict: false }).compile(
      JSON.parse(readFileSync(path.join(FOLDER, "values.schema.json"), "utf8")),
    );
    expect(validate(chart.values), JSON.stringify(validate.errors)).toBe(true);
    for (const wrong of [
      { ...chart.values, replica: 2 },
      { ...chart.values, settings: { GATEWAY_RPM_LIVE: 300 } },
      { ...chart.values, settings: { "gateway-rpm": "300" } },
      { ...chart.values, existingSecret: "" },
      { ...chart.values, persistence: { size: "10" } },
    ])
      expect(validate(wrong), JSON.stringify(wrong)).toBe(false);
    const schema = JSON.parse(readFileSync(path.join(FOLDER, "values.schema.json"), "utf8"));
    expect(Object.keys(schema.properties).filter((name) => name !== "global")).toEqual(Object.keys(chart.values));
  });

  test.each([
    ["as it comes", {}, 6],
    ["with everything", EVERYTHING, 9],
    ["with the least", LEAST, 4],
  ])("%s gives complete objects whose selectors and names match", (_name, values, count) => {
    const objects = objectsOf(values);
    expect(objects.size).toBe(count);
    const set = objects.get("StatefulSet/gw");
    const { labels } = set.spec.template.metadata;
    expect(labels).toMatchObject(set.spec.selector.matchLabels);
    expect(objects.has(`Service/${set.spec.serviceName}`)).toBe(true);
    const ports = podOf(values).containers[0].ports.map(({ name }: Json) => name);
    for (const [key, object] of objects) {
      expect(object.apiVersion, key).toBeTypeOf("string");
      if (object.kind !== "Service") continue;
      expect(labels, key).toMatchObject(object.spec.selector);
      for (const { targetPort } of object.spec.ports) expect(ports).toContain(targetPort);
    }
    const mounted = podOf(values).containers[0].volumeMounts.map(({ name }: Json) => name);
    const volumes = [
      ...podOf(values).volumes.map(({ name }: Json) => name),
      ...set.spec.volumeClaimTemplates.map(({ metadata }: Json) => metadata.name),
    ];
    expect(mounted.sort()).toEqual(volumes.sort());
    expect(chart.notes(values)).toContain("statefulset/gw");
  });

  test("OPS-05 the gateway accepts the settings it is given", () => {
    for (const values of [{}, EVERYTHING, LEAST]) {
      const { POD_NAME, ...env } = envOf(values);
      expect(POD_NAME).toBe("gw-0");
      const peer = env["GATEWAY_PEER_URL"]?.replace("$(POD_NAME)", "gw-0");
      expect(problemsOf({ ...env, ...(peer === undefined ? {} : { GATEWAY_PEER_URL: peer }) })).toEqual([]);
    }
    expect(envOf({})["PORT"]).toBe(String(SETTINGS.PORT.fallback));
    expect(Object.values(envOf({})).filter((value) => value.includes("secretKeyRef"))).toEqual([]);
  });

  test("pods have no root, no privileges, no token, and write only to their data", () => {
    const pod = podOf({});
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(objectsOf({}).get("ServiceAccount/gw").automountServiceAccountToken).toBe(false);
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 10001,
      seccompProfile: { type: "RuntimeDefault" },
    });
    const [container] = pod.containers;
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      capabilities: { drop: ["ALL"] },
    });
    const writable = container.volumeMounts.filter(({ readOnly }: Json) => readOnly !== true);
    expect(writable).toEqual([{ name: "data", mountPath: "/data" }]);
    expect(readFileSync(path.join(PROJECT_ROOT, "deploy/image/Dockerfile"), "utf8")).toContain("USER 10001:10001");
  });

  test("OPS-01 probes use existing routes, and a stopping pod has time to leave rotation and finish its streams", () => {
    const values = { drainSeconds: 300, preStopSeconds: 15 };
    const [container] = podOf(values).containers;
    const open = ROUTES.filter(({ access }) => access.by === "anyone").map(({ path: at }) => at);
    for (const probe of ["startupProbe", "livenessProbe", "readinessProbe"])
      expect(open).toContain(container[probe].httpGet.path);
    expect(container.readinessProbe.httpGet.path).toBe("/readyz");
    expect(container.livenessProbe.httpGet.path).toBe("/healthz");
    expect(container.lifecycle.preStop.exec.command).toEqual(["sleep", "15"]);
    expect(envOf(values)["GATEWAY_DRAIN_TIMEOUT_MS"]).toBe("300000");
    expect(podOf(values).terminationGracePeriodSeconds).toBeGreaterThan(300 + 15);
    const set = objectsOf({}).get("StatefulSet/gw");
    expect(set.spec.persistentVolumeClaimRetentionPolicy).toEqual({ whenDeleted: "Retain", whenScaled: "Retain" });
  });

  test("OPS-02 Prometheus has the instances under the job name of the alerts", () => {
    const objects = objectsOf(EVERYTHING);
    const { jobLabel, selector } = objects.get("ServiceMonitor/gw").spec;
    const [, job] =
      /up\{job="([^"]+)"/.exec(readFileSync(path.join(PROJECT_ROOT, "deploy/observe/alerts.yml"), "utf8")) ?? [];
    const watched = [...objects.values()].filter(
      ({ kind, metadata }) =>
        kind === "Service" &&
        Object.entries(selector.matchLabels).every(([name, value]) => metadata.labels[name] === value),
    );
    expect(watched.map(({ metadata }) => metadata.labels[jobLabel])).toEqual([job]);
  });

  test("the replica count is not set if an autoscaler manages it", () => {
    expect(objectsOf({}).get("StatefulSet/gw").spec.replicas).toBe(2);
    expect(objectsOf(EVERYTHING).get("StatefulSet/gw").spec.replicas).toBeUndefined();
  });
});
