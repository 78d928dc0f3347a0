import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { PROJECT_ROOT, SETTINGS } from "../../src/settings/config.ts";
import { problemsOf, readEnvFile } from "../support/deployment-env.ts";

type Service = {
  readonly image: string;
  readonly build?: { readonly dockerfile: string };
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly privileged?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly string[];
  readonly networks: readonly string[];
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly stop_grace_period?: string;
  readonly ulimits?: { readonly nofile: { readonly soft: number } };
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
};

const FOLDER = path.join(PROJECT_ROOT, "deploy/compose");
const written = readFileSync(path.join(FOLDER, "compose.yml"), "utf8");
const compose = parse(written, { merge: true });
const services = new Map(Object.entries<Service>(compose.services));
const gateways = [...services].filter(([name]) => name.startsWith("gateway-"));
const examples = readEnvFile(readFileSync(path.join(FOLDER, ".env.example"), "utf8"));

test("containers write only to declared paths, gain no privileges, and have no secret in their environment", () => {
  for (const [name, service] of services) {
    expect(service.read_only, name).toBe(true);
    expect(service.cap_drop, name).toEqual(["ALL"]);
    expect(service.security_opt, name).toEqual(["no-new-privileges:true"]);
    expect(service.privileged, name).toBeUndefined();
    for (const [variable, value] of Object.entries(service.environment ?? {}))
      if (/TOKEN|SECRET|PASSWORD|KEY|_URL_FILE/.test(variable)) expect(value, variable).toMatch(/^\/run\/secrets\//);
    for (const secret of service.secrets ?? []) expect(Object.keys(compose.secrets)).toContain(secret);
  }
  expect(compose.networks.back.internal).toBe(true);
  for (const name of ["postgres", "valkey"]) expect(services.get(name)?.networks).toEqual(["back"]);
  const published = [...services].filter(([, { ports }]) => ports !== undefined).map(([name]) => name);
  expect(published).toEqual(["balancer"]);
});

test("OPS-05 the gateways accept their settings, also with the examples uncommented", () => {
  expect(gateways.length).toBeGreaterThan(1);
  for (const [name, { environment = {} }] of gateways) expect(problemsOf(environment), name).toEqual([]);
  const { PUBLISH, ...settings } = examples;
  expect(PUBLISH).toMatch(/^127\.0\.0\.1:/);
  const filled = {
    ...settings,
    GATEWAY_OIDC_CLIENT_SECRET: "secret",
    GATEWAY_PUBLIC_URL: "https://gateway.example.eu",
  };
  expect(problemsOf({ ...gateways[0]?.[1].environment, ...filled })).toEqual([]);
});

test("OPS-05 the table owner is three commented lines, and the file is valid without them", () => {
  const lines = /^( *)#(?=(?:- )?database_migration_url|DATABASE_MIGRATION_URL)/gim;
  expect(written.match(lines)?.length).toBe(3);
  const { services: all, secrets } = parse(written.replace(lines, "$1"), { merge: true });
  const { environment, secrets: given }: Service = all["gateway-1"];
  expect(environment?.["DATABASE_MIGRATION_URL_FILE"]).toBe("/run/secrets/database_migration_url");
  expect(given).toContain("database_migration_url");
  expect(secrets.database_migration_url).toEqual({ file: "./secrets/database_migration_url" });
  expect(problemsOf(environment ?? {})).toEqual([]);
});

test("each gateway has its own journal, time to drain, and a server line at the load balancer", () => {
  const balancer = readFileSync(path.join(PROJECT_ROOT, "deploy/haproxy/haproxy.cfg"), "utf8");
  const drainMs = Number(gateways[0]?.[1].environment?.["GATEWAY_DRAIN_TIMEOUT_MS"]);
  const volumes = gateways.map(([, service]) => service.volumes?.[0]);
  expect(new Set(volumes).size).toBe(gateways.length);
  for (const [name, service] of gateways) {
    expect(service.volumes, name).toEqual([`${name}:/data`]);
    expect(Object.keys(compose.volumes)).toContain(name);
    expect(Number.parseInt(service.stop_grace_period ?? "0", 10) * 1000, name).toBeGreaterThan(drainMs);
    const server = `  server ${name} ${name}:${SETTINGS.PORT.fallback}`;
    expect(balancer.split("\n").filter((line) => line.startsWith(server))).toEqual([
      server,
      `${server} track gateways/${name}`,
    ]);
    expect(service.depends_on).toMatchObject({ postgres: { condition: "service_healthy" } });
  }
  expect([...balancer.matchAll(/^ {2}server /gm)].length).toBe(2 * gateways.length);
});

test("the balancer lets streams finish as long as the gateways do, and every container may open enough files", () => {
  const seconds = (name: string) => Number.parseInt(services.get(name)?.stop_grace_period ?? "0", 10);
  expect(seconds("balancer")).toBe(seconds("gateway-1"));
  const balancer = readFileSync(path.join(PROJECT_ROOT, "deploy/haproxy/haproxy.cfg"), "utf8");
  const connections = Number(/maxconn (\d+)$/m.exec(balancer)?.[1]);
  for (const [name, { ulimits }] of services) expect(ulimits?.nofile.soft, name).toBeGreaterThan(2 * connections);
});

test("OPS-21 instances wait longer for the shared state than by default, because all share the cores of one machine", () => {
  for (const [name, { environment = {} }] of gateways)
    expect(Number(environment["GATEWAY_REDIS_TIMEOUT_MS"]), name).toBeGreaterThan(
      SETTINGS.GATEWAY_REDIS_TIMEOUT_MS.fallback,
    );
});

test("images of others have a version and a digest, and both images of the project are built", () => {
  const built = ["inference-gateway:0.1.0", "inference-node:0.1.0"];
  for (const [name, { image, build }] of services)
    if (build === undefined) expect(image, name).toMatch(/:[\d.]+[\w.-]*@sha256:[0-9a-f]{64}$/);
    else expect(built, name).toContain(image);
  const dockerfiles = [...services.values()].flatMap(({ build }) => (build === undefined ? [] : [build.dockerfile]));
  expect([...new Set(dockerfiles)]).toEqual(["deploy/image/Dockerfile", "deploy/image/node-agent.Dockerfile"]);
  for (const file of dockerfiles) expect(existsSync(path.join(PROJECT_ROOT, file))).toBe(true);
});

test("its secrets are generated once, in the paths of the compose file, and give valid settings", () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "gateway-compose-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(path.join(FOLDER, "secrets.sh"), path.join(folder, "secrets.sh"));
  const make = () => expect(spawnSync("sh", [path.join(folder, "secrets.sh")]).status).toBe(0);
  make();
  const secretOf = (name: string) => readFileSync(path.join(folder, compose.secrets[name].file), "utf8").trim();
  // The operator writes the token of a node.
  const names = Object.keys(compose.secrets).filter((name) => name !== "node_token");
  const first = names.map(secretOf);
  expect(new Set(first).size).toBe(first.length);
  make();
  expect(names.map(secretOf)).toEqual(first);
  expect(statSync(path.join(folder, "secrets")).mode & 0o777).toBe(0o700);
  const given = {
    DATABASE_URL: secretOf("database_url"),
    REDIS_URL: secretOf("redis_url"),
    GATEWAY_ADMIN_TOKEN: secretOf("admin_token"),
    GATEWAY_MASTER_KEY: secretOf("master_key"),
  };
  expect(problemsOf(given)).toEqual([]);
  expect(secretOf("valkey_conf")).toContain(`requirepass ${/:([0-9a-f]+)@/.exec(given.REDIS_URL)?.[1]}\n`);
  expect(secretOf("valkey_conf")).toContain("maxmemory-policy noeviction");
  expect(given.DATABASE_URL).toContain(secretOf("postgres_password"));
});
