import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { PROJECT_ROOT, SETTINGS } from "../../src/settings/config.ts";
import { cleanUp, spawnGateway } from "../edge/child.ts";
import { unusedPort } from "../support/upstream.ts";

const read = (file: string) => readFileSync(path.join(PROJECT_ROOT, file), "utf8");
const dockerfile = read("deploy/image/Dockerfile")
  .replace(/^#.*\n/gm, "")
  .replaceAll("\\\n", " ");
const [defaults = "", build = "", run = ""] = dockerfile.split(/^FROM /m);
const manifest = JSON.parse(read("package.json"));

/** Sources of COPY lines that come from the project and not from an earlier stage. */
const copied = [...dockerfile.matchAll(/^COPY (?!--from)(?:--\S+ )*(.*) \S+$/gm)].flatMap(([, sources = ""]) =>
  sources.split(" "),
);

test("the image copies files of the repository, and its ignore file admits exactly those", () => {
  const ignore = read("deploy/image/Dockerfile.dockerignore").split("\n");
  expect(ignore.find((line) => line !== "" && !line.startsWith("#"))).toBe("*");
  const included = ignore.filter((line) => line.startsWith("!")).map((line) => line.slice(1));
  for (const source of copied) {
    expect(existsSync(path.join(PROJECT_ROOT, source)), source).toBe(true);
    expect(
      included.some((one) => source === one || source.startsWith(`${one}/`)),
      source,
    ).toBe(true);
  }
  expect(included.filter((one) => !copied.some((source) => source === one || source.startsWith(`${one}/`)))).toEqual(
    [],
  );
  for (const secret of ["data", ".env"]) expect(included).not.toContain(secret);
  // After the lines that admit: the last one wins.
  const excluded = ignore.slice(ignore.findLastIndex((line) => line.startsWith("!")));
  expect(excluded).toEqual(expect.arrayContaining(["deploy/compose", "**/.env*"]));
});

test("OPS-05 the image is the release package: everything that it is made of is in the build", () => {
  const pack = read("scripts/pack.mjs");
  const [, packed = ""] = /const COPIED = \[(.*?)\];/s.exec(pack) ?? [];
  const needed = [...packed.matchAll(/"([^"]+)"/g)].map(([, name = ""]) => name);
  expect(needed).toContain("catalogue");
  needed.push("portal", "docs", "package-lock.json", ".npmrc");
  expect(needed.filter((one) => !copied.some((source) => one === source || one.startsWith(`${source}/`)))).toEqual([]);
  for (const file of ["bin/gateway", "deploy/image/healthcheck.mjs", "deploy/image/build.mjs"])
    expect(existsSync(path.join(PROJECT_ROOT, file)), file).toBe(true);
});

test("it uses the pinned Node and exact packages without install scripts or test tools", () => {
  const pinned = Object.values(manifest.optionalDependencies);
  expect(new Set(pinned).size).toBe(1);
  const digest = "@sha256:[0-9a-f]{64}";
  const bases = `ARG NODE_IMAGE=node:${pinned[0]}-trixie-slim${digest}\nARG DEBIAN_IMAGE=debian:trixie-slim${digest}\n`;
  expect(defaults).toMatch(new RegExp(bases));
  const [nodeImage = ""] = /^ARG NODE_IMAGE=.*$/m.exec(defaults) ?? [];
  expect(read("deploy/image/node-agent.Dockerfile")).toContain(`\n${nodeImage}\n`);
  expect(build).toMatch(/^\$\{NODE_IMAGE\} AS build/);
  expect(run).toMatch(/^\$\{DEBIAN_IMAGE\}/);
  expect(build).toContain("npm ci --omit=dev --ignore-scripts");
  expect(dockerfile).not.toMatch(/npm (?:install|i)\b|curl|wget|ADD /);
});

test("it runs unprivileged, writes only to /data, stops on SIGTERM, and has no secret", () => {
  const users = [...run.matchAll(/^USER (.*)$/gm)].map(([, user]) => user);
  expect(users).toEqual(["10001:10001"]);
  // After the last change of permissions nothing of the application belongs to that user.
  expect(run).toMatch(/^COPY --from=build --chown=0:0 \/app \/app$/m);
  expect(run).toMatch(/^VOLUME \/data$/m);
  expect(run).toMatch(/^STOPSIGNAL SIGTERM$/m);
  expect(run).toMatch(/^ENTRYPOINT \["\/app\/bin\/gateway"\]\s+CMD \["serve"\]$/m);
  const env = Object.fromEntries(
    [...run.matchAll(/^ENV (.*)$/gm)].flatMap(([, pairs = ""]) => pairs.split(" ").map((pair) => pair.split("="))),
  );
  expect(env).toMatchObject({ HOST: "0.0.0.0", PORT: String(SETTINGS.PORT.fallback), DATA_DIR: "/data" });
  expect(run).toContain(`EXPOSE ${env["PORT"]}`);
  expect(build + run).not.toMatch(/^ARG |TOKEN|SECRET|PASSWORD|MASTER_KEY|API_KEY/m);
  expect(run).toContain(`org.opencontainers.image.version="${manifest.version}"`);
});

test("its health check accepts a healthy gateway and nothing else", async () => {
  const command = JSON.parse(/^HEALTHCHECK .*CMD (\[.*\])$/m.exec(run)?.[1] ?? "[]");
  expect(command).toEqual(["/app/node_modules/.bin/node", "/app/deploy/image/healthcheck.mjs"]);
  const check = (port: string) =>
    spawnSync(process.execPath, [path.join(PROJECT_ROOT, "deploy/image/healthcheck.mjs")], { env: { PORT: port } });
  expect(check(String(await unusedPort())).status).toBe(1);
  // In a separate process: the check is synchronous, and a gateway in this one could not answer.
  onTestFinished(cleanUp);
  const origin = await spawnGateway({ LOG_LEVEL: "silent" }).ready();
  expect(check(new URL(origin).port).status).toBe(0);
});
