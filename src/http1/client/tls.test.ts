import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:https";
import os from "node:os";
import path from "node:path";
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from "node:tls";
import { describe, expect, onTestFinished, test } from "vitest";
import type { RequestFailure } from "./contract.ts";
import { createHttpClient } from "./http-client.ts";

const OPENSSL = "/usr/bin/openssl";
const LIMITS = { connections: 4, connectTimeoutMs: 15_000, firstByteTimeoutMs: 15_000, idleTimeoutMs: 15_000 };

function createCertificate(): { key: string; cert: string } {
  const folder = mkdtempSync(path.join(os.tmpdir(), "gateway-tls-"));
  const [key, cert] = [path.join(folder, "key.pem"), path.join(folder, "certificate.pem")];
  const named = ["-subj", "/CN=provider", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  const made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", cert];
  execFileSync(OPENSSL, ["req", "-x509", "-days", "2", ...made, ...named], { stdio: "ignore" });
  const read = { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  rmSync(folder, { recursive: true, force: true });
  return read;
}

type TlsHandshake = { readonly name: unknown; readonly protocol: unknown; readonly isResumed: boolean };

/** A TLS server that returns the request body, and the handshakes it saw. */
async function startEchoServer(after: "keep" | "close") {
  const { key, cert } = createCertificate();
  const handshakes: TlsHandshake[] = [];
  const server = createServer({ key, cert, ALPNProtocols: ["h2", "http/1.1"] }, (request, response) => {
    response.writeHead(200, { "content-type": "text/plain", ...(after === "close" ? { connection: "close" } : {}) });
    request.pipe(response);
  });
  server.on("secureConnection", (socket: TLSSocket) => {
    handshakes.push({
      name: "servername" in socket ? socket.servername : undefined,
      protocol: socket.alpnProtocol,
      isResumed: socket.isSessionReused(),
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const client = createHttpClient(LIMITS);
  onTestFinished(async () => {
    await client.close();
    server.close();
    server.closeAllConnections();
  });
  const send = (host: string, body: string) =>
    new Promise<string | RequestFailure>((resolve) => {
      const chunks: Buffer[] = [];
      client.send(
        { url: `https://${host}:${port}/v1/x`, headers: {}, body },
        {
          onFailure: resolve,
          onHeaders: () => ({
            onData(chunk) {
              chunks.push(chunk);
              return "more";
            },
            onEnd: () => resolve(Buffer.concat(chunks).toString()),
            onFailure: resolve,
          }),
        },
      );
    });
  return { send, handshakes, cert };
}

function trust(cert: string): void {
  const before = getCACertificates("default");
  setDefaultCACertificates([...before, cert]);
  onTestFinished(() => setDefaultCACertificates(before));
}

describe.runIf(existsSync(OPENSSL))("over TLS", () => {
  test("ROUTE-04 sends nothing to a server with an untrusted certificate", async () => {
    const { send, handshakes } = await startEchoServer("keep");
    expect(await send("localhost", "secret")).toEqual({
      kind: "connect",
      sent: false,
      why: "DEPTH_ZERO_SELF_SIGNED_CERT",
    });
    expect(handshakes).toEqual([]);
  });

  test("CHAT-08 bodies of any length arrive complete on a reused connection", async () => {
    const { send, handshakes, cert } = await startEchoServer("keep");
    trust(cert);
    const long = "0123456789é".repeat(200_000);
    expect(await send("localhost", "short")).toBe("short");
    expect((await send("localhost", long)) === long).toBe(true);
    expect(handshakes).toEqual([{ name: "localhost", protocol: "http/1.1", isResumed: false }]);
  });

  test("sends no SNI for an IP address, and resumes the TLS session on the next connection", async () => {
    const { send, handshakes, cert } = await startEchoServer("close");
    trust(cert);
    expect([await send("127.0.0.1", "a"), await send("127.0.0.1", "b")]).toEqual(["a", "b"]);
    expect(handshakes.map(({ name }) => name)).toEqual([false, false]);
    expect(handshakes.map(({ isResumed }) => isResumed)).toEqual([false, true]);
  });
});
