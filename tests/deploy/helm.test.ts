import { readFileSync } from "node:fs";
import path from "node:path";
import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { ROUTES } from "../../src/contract/routes.ts";
import { PROJECT_ROOT, SETTINGS } from "../../src/settings/config.ts";
import { problemsOf } from "../support/deployment-env.ts";
import type { Json } from "../support/gateway.ts";
import { openChart } from "../support/helm.ts";

const FOLDER = path.join(PROJECT_ROOT, "deploy/helm/inference-gateway");
const chart = openChart(FOLDER);
const EVERYTHING = {
  settings: { PORT: "9090", GATEWAY_TRUSTED_PROXIES: "10.1.2.0/24" },
  migrations: { secretSettings: ["DATABASE_MIGRATION_URL"] },
  service: { type: "LoadBalancer", annotations: { "lb/class": "internal" }, sourceRanges: ["192.0.2.0/24"] },
  ingress: { enabled: true, className: "nginx", annotations: { "a/b": "off" } },
  autoscaling: { enabled: true },
  serviceMonitor: { enabled: true, labels: { release: "prometheus" } },
  networkPolicy: { from: [{ podSelector: {} }], metricsFrom: [{ podSelector: {} }] },
  image: { pullSecrets: [{ name: "pull" }], digest: `sha256:${"a".repeat(64)}` },
  persistence: { storageClass: "fast" },
  podLabels: { team: "platform" },
  annotations: { "team/contact": "platform" },
  podAnnotations: { note: "yes" },
  priorityClassName: "high",
  extraEnv: [{ name: "NODE_EXTRA_CA_CERTS", value: "/etc/gateway/ca.pem" }],
  extraVolumes: [{ name: "ca", configMap: { name: "database-ca" } }],
  extraVolumeMounts: [{ name: "ca", mountPath: "/etc/gateway", readOnly: true }],
  nodeSelector: { disk: "ssd" },
  tolerations: [{ key: "dedicated", operator: "Exists" }],
  affinity: { nodeAffinity: {} },
};
const ALL_SECRETS = ["DATABASE_URL", "REDIS_URL", "GATEWAY_ADMIN_TOKEN", "GATEWAY_MASTER_KEY"];
/** Groups of values that EVERYTHING changes in part, whole. */
const PARTIAL = { image: chart.values["image"], settings: chart.values["settings"], persistence: { size: "1Gi" } };
const LEAST = { replicas: 1, secretSettings: [], networkPolicy: { enabled: false }, serviceAccountName: "own" };

const objectsOf = (values: object): Map<string, Json> => chart.render(values);
const policyOf = (values: object) => objectsOf(values).get("NetworkPolicy/gw").spec.ingress;
const podOf = (values: object) => objectsOf(values).get("StatefulSet/gw").spec.template.spec;
const envOf = (values: object): Record<string, string> =>
  Object.fromEntries(podOf(values).containers[0].env.map(({ name, value }: Json) => [name, value ?? "gw-0"]));

describe("the chart", () => {
  test("its values match its schema, which rejects typos", () => {
    const validate = new Ajv({ strict: false }).compile(
      JSON.parse(readFileSync(path.join(FOLDER, "values.schema.json"), "utf8")),
    );
    for (const right of [chart.values, { ...chart.values, ...EVERYTHING, ...PARTIAL }])
      expect(validate(right), JSON.stringify(validate.errors)).toBe(true);
    const { settings } = parse(readFileSync(path.join(FOLDER, "values.yaml"), "utf8"));
    for (const wrong of [
      { ...chart.values, replica: 2 },
      ...["80", "7443", "66000", "http"].map((PORT) => ({ ...chart.values, settings: { ...settings, PORT } })),
      { ...chart.values, settings: { ...settings, GATEWAY_DRAIN_TIMEOUT_MS: "1" } },
      { ...chart.values, topologySpreadConstraints: [{ topologyKey: "zone" }] },
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
    ["as it comes", {}, 7],
    ["with everything", EVERYTHING, 10],
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
    for (const values of [{}, EVERYTHING]) {
      const names = podOf(values).containers[0].env.map(({ name }: Json) => name);
      expect(new Set(names).size, String(names)).toBe(names.length);
    }
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

  test("OPS-21 several instances need PostgreSQL and Redis, however they are set", () => {
    const without = (...names: string[]) => ALL_SECRETS.filter((name) => !names.includes(name));
    const several = /DATABASE_URL and REDIS_URL/;
    for (const values of [
      { secretSettings: without("REDIS_URL") },
      { secretSettings: without("DATABASE_URL") },
      { secretSettings: [], replicas: 3 },
      { secretSettings: without("REDIS_URL"), replicas: 1, autoscaling: { enabled: true } },
    ])
      expect(() => objectsOf(values), JSON.stringify(values)).toThrow(several);
    for (const values of [
      { secretSettings: [], replicas: 1 },
      { secretSettings: without("REDIS_URL"), extraEnv: [{ name: "REDIS_URL_FILE", value: "/etc/redis" }] },
      { secretSettings: without("REDIS_URL"), settings: { REDIS_URL: "redis://valkey:6379" } },
    ])
      expect(() => objectsOf(values), JSON.stringify(values)).not.toThrow();
  });

  test("OPS-21 an ingress needs a choice of trusted proxies, and an autoscaler a measure", () => {
    expect(() => objectsOf({ ingress: { enabled: true } })).toThrow(/settings\.GATEWAY_TRUSTED_PROXIES/);
    for (const proxies of ["", "10.1.2.0/24"]) {
      const values = { ingress: { enabled: true }, settings: { GATEWAY_TRUSTED_PROXIES: proxies } };
      expect(envOf(values)["GATEWAY_TRUSTED_PROXIES"]).toBe(proxies);
    }
    const metrics = (autoscaling: object) =>
      objectsOf({ autoscaling: { enabled: true, ...autoscaling } })
        .get("HorizontalPodAutoscaler/gw")
        .spec.metrics.map(({ type }: Json) => type);
    expect(metrics({})).toEqual(["Pods", "Resource"]);
    expect(metrics({ cpuPercent: 0 })).toEqual(["Pods"]);
    expect(metrics({ runningRequests: 0 })).toEqual(["Resource"]);
    expect(() => metrics({ runningRequests: 0, cpuPercent: 0 })).toThrow(/needs a measure/);
    expect(() => metrics({ minReplicas: 9 })).toThrow(/minReplicas/);
  });

  test("callers from outside the cluster pass the network policy of the service that lets them in", () => {
    const [, callers] = policyOf({});
    expect(callers.from).toEqual([{ namespaceSelector: {} }]);
    for (const type of ["LoadBalancer", "NodePort"]) {
      const [own, open] = policyOf({ service: { type } });
      expect(open).toEqual({ ports: [{ port: "http" }] });
      expect(own.ports).toContainEqual({ port: "peers" });
      expect(objectsOf({ service: { type } }).get("Service/gw").spec.externalTrafficPolicy).toBe("Local");
    }
    expect(policyOf(EVERYTHING)[1].from).toEqual([{ podSelector: {} }]);
    expect(objectsOf({}).get("Service/gw").spec.externalTrafficPolicy).toBeUndefined();
  });

  test("the port is one setting for container, services and health check", () => {
    const objects = objectsOf(EVERYTHING);
    expect(podOf(EVERYTHING).containers[0].ports[0]).toEqual({ name: "http", containerPort: 9090 });
    expect(objects.get("Service/gw-pods").spec.ports[0]).toMatchObject({ port: 9090, targetPort: "http" });
    expect(envOf(EVERYTHING)["PORT"]).toBe("9090");
  });

  test("migrations run in a job before the pods change, and only there with the owner's URL", () => {
    const job = objectsOf(EVERYTHING).get("Job/gw-migration");
    expect(job.metadata.annotations["helm.sh/hook"]).toBe("pre-install,pre-upgrade");
    const { template } = job.spec;
    const [container] = template.spec.containers;
    const given = (env: Json[]) => env.map(({ name }) => name);
    expect(container.args).toEqual(["migrate"]);
    expect(given(container.env)).toContain("DATABASE_MIGRATION_URL_FILE");
    expect(given(podOf(EVERYTHING).containers[0].env)).not.toContain("DATABASE_MIGRATION_URL_FILE");
    const named = container.env.map(({ name, value }: Json) => [name, value]);
    expect(problemsOf(Object.fromEntries(named))).toEqual([]);
    expect(container.volumeMounts.map(({ name }: Json) => name)).toEqual(["data", "secrets", "ca"]);
    expect(template.spec.volumes.map(({ name }: Json) => name)).toEqual(["data", "secrets", "ca"]);
    expect(container.securityContext).toEqual(podOf({}).containers[0].securityContext);
    // No service and no network policy takes it for an instance.
    expect(template.metadata.labels).not.toMatchObject(objectsOf({}).get("StatefulSet/gw").spec.selector.matchLabels);
    // The startup probe of a pod that makes the migrations waits as long as the job may.
    const { periodSeconds, failureThreshold } = podOf({}).containers[0].startupProbe;
    expect(periodSeconds * failureThreshold).toBe(job.spec.activeDeadlineSeconds);
    expect(objectsOf(LEAST).has("Job/gw-migration")).toBe(false);
    expect(objectsOf({ migrations: { enabled: false } }).has("Job/gw-migration")).toBe(false);
  });

  test("pods are spread, and have what is added: environment, volumes, annotations, priority", () => {
    const pod = podOf(EVERYTHING);
    expect(pod.priorityClassName).toBe("high");
    expect(pod.affinity).toEqual({ nodeAffinity: {} });
    const { matchLabels } = objectsOf({}).get("StatefulSet/gw").spec.selector;
    expect(pod.topologySpreadConstraints.map(({ topologyKey }: Json) => topologyKey)).toEqual([
      "kubernetes.io/hostname",
      "topology.kubernetes.io/zone",
    ]);
    for (const { labelSelector } of pod.topologySpreadConstraints) expect(labelSelector).toEqual({ matchLabels });
    expect(podOf({ topologySpreadConstraints: [] }).topologySpreadConstraints).toBeUndefined();
    expect(envOf(EVERYTHING)["NODE_EXTRA_CA_CERTS"]).toBe("/etc/gateway/ca.pem");
    for (const [key, { metadata }] of objectsOf(EVERYTHING))
      expect(metadata.annotations, key).toMatchObject({ "team/contact": "platform" });
    expect(objectsOf(EVERYTHING).get("Service/gw").metadata.annotations["lb/class"]).toBe("internal");
  });
});
