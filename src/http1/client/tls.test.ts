import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:https";
import os from "node:os";
import path from "node:path";
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from "node:tls";
import { describe, expect, onTestFinished, test } from "vitest";
import type { UpstreamFailure } from "../../io/upstream/transport.ts";
import { createHttpClient } from "./http-client.ts";

const OPENSSL = "/usr/bin/openssl";
const LIMITS = { connections: 4, connectTimeoutMs: 15_000, firstByteTimeoutMs: 15_000, idleTimeoutMs: 15_000 };

function certificateOf(): { key: string; cert: string } {
  const folder = mkdtempSync(path.join(os.tmpdir(), "gateway-tls-"));
  const [key, cert] = [path.join(folder, "key.pem"), path.join(folder, "certificate.pem")];
  const named = ["-subj", "/CN=provider", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  const made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", cert];
  execFileSync(OPENSSL, ["req", "-x509", "-days", "2", ...made, ...named], { stdio: "ignore" });
  const read = { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  rmSync(folder, { recursive: true, force: true });
  return read;
}

type Met = { readonly name: unknown; readonly protocol: unknown; readonly isResumed: boolean };

/** A provider that sends back what it was sent, and says how it was met. */
async function echo(after: "keep" | "close") {
  const { key, cert } = certificateOf();
  const met: Met[] = [];
  const server = createServer({ key, cert, ALPNProtocols: ["h2", "http/1.1"] }, (request, response) => {
    response.writeHead(200, { "content-type": "text/plain", ...(after === "close" ? { connection: "close" } : {}) });
    request.pipe(response);
  });
  server.on("secureConnection", (socket: TLSSocket) => {
    met.push({
      name: "servername" in socket ? socket.servername : undefined,
      protocol: socket.alpnProtocol,
      isResumed: socket.isSessionReused(),
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const transport = createHttpClient(LIMITS);
  onTestFinished(async () => {
    await transport.close();
    server.close();
    server.closeAllConnections();
  });
  const ask = (host: string, body: string) =>
    new Promise<string | UpstreamFailure>((resolve) => {
      const pieces: Buffer[] = [];
      transport.send(
        { url: `https://${host}:${port}/v1/x`, headers: {}, body },
        {
          onFailure: resolve,
          onHeaders: () => ({
            onData(chunk) {
              pieces.push(chunk);
              return "more";
            },
            onEnd: () => resolve(Buffer.concat(pieces).toString()),
            onFailure: resolve,
          }),
        },
      );
    });
  return { ask, met, cert };
}

function trust(cert: string): void {
  const before = getCACertificates("default");
  setDefaultCACertificates([...before, cert]);
  onTestFinished(() => setDefaultCACertificates(before));
}

describe.runIf(existsSync(OPENSSL))("over TLS", () => {
  test("ROUTE-04 a provider whose certificate nobody vouches for is sent nothing", async () => {
    const { ask, met } = await echo("keep");
    expect(await ask("localhost", "secret")).toEqual({
      kind: "connect",
      sent: false,
      why: "DEPTH_ZERO_SELF_SIGNED_CERT",
    });
    expect(met).toEqual([]);
  });

  test("CHAT-08 what is sent and answered is whole, on a connection that is used again", async () => {
    const { ask, met, cert } = await echo("keep");
    trust(cert);
    const long = "0123456789é".repeat(200_000);
    expect(await ask("localhost", "short")).toBe("short");
    expect((await ask("localhost", long)) === long).toBe(true);
    expect(met).toEqual([{ name: "localhost", protocol: "http/1.1", isResumed: false }]);
  });

  test("a connection by address names nobody, and the next one to the same place is made from the one before", async () => {
    const { ask, met, cert } = await echo("close");
    trust(cert);
    expect([await ask("127.0.0.1", "a"), await ask("127.0.0.1", "b")]).toEqual(["a", "b"]);
    expect(met.map(({ name }) => name)).toEqual([false, false]);
    expect(met.map(({ isResumed }) => isResumed)).toEqual([false, true]);
  });
});
