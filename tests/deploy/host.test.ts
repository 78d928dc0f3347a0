import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, get } from "node:http";
import os from "node:os";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { notifySystemd } from "../../src/bootstrap/systemd-notify.ts";
import { PROJECT_ROOT, SETTINGS } from "../../src/settings/config.ts";
import { cleanUp, spawnGateway } from "../edge/child.ts";
import { problemsOf, readEnvFile } from "../support/deployment-env.ts";
import { eventually } from "../support/eventually.ts";
import { type Balancer, hasHaproxy, startHaproxy } from "../support/haproxy.ts";
import { unusedPort } from "../support/upstream.ts";

/** A real nginx in front of a gateway on this port, with the shipped configuration. */
async function startNginx(gatewayPort: number): Promise<Balancer> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "gateway-nginx-"));
  const port = await unusedPort();
  const shipped = read("deploy/nginx/gateway.conf")
    .replace(/(?: {4}server [\d.]+:8080 .*\n)+/, `    server 127.0.0.1:${gatewayPort};\n`)
    .replace("listen 80;", `listen 127.0.0.1:${port};`)
    .replace("    listen [::]:80;\n", "")
    .replace("/var/log/nginx/", `${folder}/`);
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const main = `daemon off; pid ${folder}/pid; error_log stderr; events {} http { access_log off; ${paths.join(" ")} ${shipped} }`;
  writeFileSync(path.join(folder, "nginx.conf"), main);
  const child = spawn("nginx", ["-c", path.join(folder, "nginx.conf")], { stdio: ["ignore", "ignore", "pipe"] });
  let logs = "";
  child.stderr.on("data", (chunk) => {
    logs += String(chunk);
  });
  const exited = once(child, "exit");
  const url = `http://127.0.0.1:${port}`;
  await expect
    .poll(
      () =>
        fetch(url).then(
          ({ status }) => status,
          () => logs,
        ),
      { timeout: 10_000 },
    )
    .toBe(200);
  return {
    url,
    async close() {
      child.kill("SIGTERM");
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const read = (file: string) => readFileSync(path.join(PROJECT_ROOT, file), "utf8");
const isThere = (program: string) => spawnSync("/bin/sh", ["-c", `command -v ${program}`]).status === 0;
/** Above the request timeout: the gateway must be the one to end a request, because it reports why. */
const LONGEST_SECONDS = SETTINGS.GATEWAY_REQUEST_TIMEOUT_MS.fallback / 1000;

function folderForTest(): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), "gateway-host-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe("systemd units", () => {
  test.skipIf(!isThere("systemd-analyze")).each(["inference-gateway.service", "inference-node.service"])(
    "%s is accepted by systemd without a warning",
    (name) => {
      const folder = folderForTest();
      const file = path.join(folder, name);
      // The program has another path on this machine.
      writeFileSync(file, read(`deploy/systemd/${name}`).replaceAll("/opt/inference-gateway", PROJECT_ROOT));
      const { status, stderr } = spawnSync("systemd-analyze", ["verify", file], { encoding: "utf8" });
      expect({ status, stderr: stderr.split("\n").filter((line) => line.includes(name)) }).toEqual({
        status: 0,
        stderr: [],
      });
    },
  );

  test("OPS-01 the gateway's unit has a data folder, private secrets, and time to drain", () => {
    const unit = read("deploy/systemd/inference-gateway.service");
    const env = readEnvFile(read("deploy/systemd/inference-gateway.env"));
    const stopSeconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]);
    expect(stopSeconds * 1000).toBeGreaterThan(Number(env["GATEWAY_DRAIN_TIMEOUT_MS"]));
    for (const line of ["DynamicUser=yes", "ProtectSystem=strict", "NoNewPrivileges=yes", "CapabilityBoundingSet="])
      expect(unit.split("\n")).toContain(line);
    expect(unit).not.toMatch(/^MemoryDenyWriteExecute=yes/m);
    // The machine's addresses, advertised for GATEWAY_PEER_HOST=0.0.0.0, are read from the kernel.
    expect(/^RestrictAddressFamilies=(.*)$/m.exec(unit)?.[1]?.split(" ")).toContain("AF_NETLINK");
    const state = /^StateDirectory=(.*)$/m.exec(unit)?.[1];
    expect(unit).toContain(`DATA_DIR=/var/lib/${state}`);
    const credentials = [...unit.matchAll(/^#?LoadCredentialEncrypted=([\w-]+):/gm)].map(([, name]) => name);
    expect(credentials).toContain("mistral-key");
    expect(credentials.every((name) => unit.includes(`_FILE=%d/${name}`))).toBe(true);
  });

  test("OPS-01 a service is started when the gateway is ready, and systemd is notified of the stop", async () => {
    const unit = read("deploy/systemd/inference-gateway.service");
    for (const line of ["Type=notify", "NotifyAccess=all"]) expect(unit.split("\n")).toContain(line);
    const folder = folderForTest();
    const messages = path.join(folder, "messages");
    writeFileSync(path.join(folder, "systemd-notify"), `#!/bin/sh\necho "$1" >> ${messages}\n`, { mode: 0o755 });
    const gateway = spawnGateway({ NOTIFY_SOCKET: "/run/notify", PATH: `${folder}:${process.env["PATH"]}` });
    onTestFinished(cleanUp);
    await gateway.ready();
    await eventually(() => expect(readFileSync(messages, "utf8")).toBe("READY=1\n"));
    expect(await gateway.stop()).toBe(0);
    expect(readFileSync(messages, "utf8")).toBe("READY=1\nSTOPPING=1\n");
    expect(await notifySystemd("READY=1", {})).toBeUndefined();
    expect(await notifySystemd("READY=1", { NOTIFY_SOCKET: "/run/notify", PATH: "" })).toMatch(/ENOENT/);
  });

  test("OPS-01 a system call that a unit does not allow is refused and does not end the program", () => {
    for (const name of ["inference-gateway.service", "inference-node.service"])
      expect(read(`deploy/systemd/${name}`)).toMatch(/^SystemCallErrorNumber=EPERM$/m);
  });

  test("OPS-05 the gateway accepts its example settings", () => {
    const env = readEnvFile(read("deploy/systemd/inference-gateway.env"));
    // Its user may not read the folder of these settings: files are credentials of the unit.
    expect(Object.keys(env).filter((name) => name.endsWith("_FILE"))).toEqual([]);
    const secrets = { GATEWAY_ADMIN_TOKEN_FILE: "", GATEWAY_MASTER_KEY_FILE: "" };
    expect(problemsOf({ ...env, ...secrets })).toEqual([]);
  });
});

describe("load balancers", () => {
  test.skipIf(!isThere("haproxy"))("HAProxy accepts its file", () => {
    const { status, stderr } = spawnSync(
      "haproxy",
      ["-c", "-f", path.join(PROJECT_ROOT, "deploy/haproxy/haproxy.cfg")],
      {
        encoding: "utf8",
      },
    );
    const complaints = stderr
      .split("\n")
      .filter((line) => /ALERT|WARNING/.test(line) && !/could not resolve/.test(line));
    expect({ status, complaints }).toEqual({ status: 0, complaints: [] });
  });

  test.skipIf(!isThere("nginx"))("nginx accepts its file", () => {
    const folder = folderForTest();
    const main = path.join(folder, "nginx.conf");
    const included = path.join(folder, "gateway.conf");
    writeFileSync(included, read("deploy/nginx/gateway.conf").replace("/var/log/nginx/", `${folder}/`));
    writeFileSync(
      main,
      `pid ${folder}/pid; error_log stderr; events {} http { access_log off; client_body_temp_path ${folder}/b; include ${included}; }`,
    );
    const { status, stderr } = spawnSync("nginx", ["-t", "-q", "-c", main], { encoding: "utf8" });
    expect({ status, stderr: stderr }).toEqual({ status: 0, stderr: "" });
  });

  test.skipIf(!hasHaproxy || !isThere("nginx"))(
    "SAFE-02 both answer 404 for the metrics, however the path is written, and pass on everything else",
    async () => {
      const gateway = createServer((request, response) => response.end(`passed ${request.url}`));
      await new Promise<void>((resolve) => gateway.listen(0, "127.0.0.1", resolve));
      const address = gateway.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      const balancers = [await startHaproxy([port]), await startNginx(port)];
      onTestFinished(async () => {
        for (const balancer of balancers) await balancer.close();
        gateway.close();
        gateway.closeAllConnections();
      });
      for (const { url } of balancers) {
        for (const target of ["/metrics", "/metrics/", "/metrics?x=1", "/metrics/?x=1"])
          expect([target, (await fetch(`${url}${target}`)).status]).toEqual([target, 404]);
        expect(await (await fetch(`${url}/v1/models`)).text()).toBe("passed /v1/models");
      }
    },
  );

  test.skipIf(!hasHaproxy)(
    "OPS-01 NODE-02 HAProxy that stops finishes a stream, then closes the tunnels of nodes and exits",
    async () => {
      const gateway = createServer((request, response) => {
        if (request.url !== "/v1/stream") return void response.end();
        let pieces = 0;
        const timer = setInterval(() => {
          response.write("x");
          pieces += 1;
          if (pieces < 15) return;
          clearInterval(timer);
          response.end();
        }, 100);
      });
      const tunnels = new WebSocketServer({ server: gateway });
      await new Promise<void>((resolve) => gateway.listen(0, "127.0.0.1", resolve));
      const address = gateway.address();
      const balancer = await startHaproxy([typeof address === "object" && address !== null ? address.port : 0]);
      onTestFinished(async () => {
        await balancer.close();
        tunnels.close();
        gateway.close();
        gateway.closeAllConnections();
      });
      const node = new WebSocket(`${balancer.url.replace("http", "ws")}/nodes/connect`);
      node.on("error", () => {});
      await once(node, "open");
      const ends: string[] = [];
      node.once("close", () => ends.push("tunnel"));
      const [response] = await once(get(`${balancer.url}/v1/stream`, { agent: false }), "response");
      const stopped = balancer.drain();
      let bytes = 0;
      for await (const piece of response) bytes += piece.length;
      ends.push("stream");
      await stopped;
      await eventually(() => expect(ends).toEqual(["stream", "tunnel"]));
      expect(bytes).toBe(15);
    },
  );

  test("GEM-01 neither logs the query of a request, which may have a key", () => {
    const [, haproxy = ""] = /^ {2}log-format "(.*)"$/m.exec(read("deploy/haproxy/haproxy.cfg")) ?? [];
    expect(haproxy).toMatch(/%HM %HP %HV/);
    expect(haproxy).not.toMatch(/%(r|HU|HQ)\b|capture/);
    const [, nginx = ""] = /^log_format gateway ([^;]*);$/m.exec(read("deploy/nginx/gateway.conf")) ?? [];
    expect(nginx).toMatch(/\$request_method \$uri /);
    expect(nginx).not.toMatch(/\$(request|request_uri|args|query_string|http_referer)\b(?!_)/);
    expect(read("deploy/nginx/gateway.conf")).toMatch(/^ {4}access_log \S+ gateway;$/m);
  });

  test("both wait longer than the gateway, do not buffer, and retry no request", () => {
    const haproxy = read("deploy/haproxy/haproxy.cfg");
    for (const side of ["client", "server"])
      expect(Number(new RegExp(`^ {2}timeout ${side} (\\d+)s$`, "m").exec(haproxy)?.[1])).toBeGreaterThan(
        LONGEST_SECONDS,
      );
    expect(haproxy).toMatch(/^ {2}retry-on conn-failure$/m);
    expect(haproxy).toMatch(/uri \/readyz /);
    expect(haproxy).toMatch(/option http-no-delay/);
    const nginx = read("deploy/nginx/gateway.conf");
    for (const side of ["read", "send"])
      expect(Number(new RegExp(`proxy_${side}_timeout (\\d+)s;`).exec(nginx)?.[1])).toBeGreaterThan(LONGEST_SECONDS);
    expect(nginx).toContain("proxy_buffering off;");
    expect(nginx).toContain("proxy_request_buffering off;");
    expect(nginx).not.toContain("non_idempotent");
    const megabytes = Number(/client_max_body_size (\d+)m;/.exec(nginx)?.[1]);
    expect(megabytes * 1024 * 1024).toBeGreaterThan(SETTINGS.GATEWAY_BODY_MAX_BYTES.fallback);
    // Idle connections are closed by the load balancer first: a gateway that closes one could lose a request.
    const idleMs = SETTINGS.GATEWAY_CONNECTION_IDLE_MS.fallback;
    expect(Number(/timeout http-keep-alive (\d+)s/.exec(haproxy)?.[1]) * 1000).toBeLessThan(idleMs);
    expect(Number(/ keepalive_timeout (\d+)s/.exec(nginx)?.[1]) * 1000).toBeLessThan(idleMs);
    expect(existsSync(path.join(PROJECT_ROOT, "deploy/compose/compose.yml"))).toBe(true);
  });
});
