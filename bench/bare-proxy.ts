/**
 * The baseline: a minimal proxy on the same runtime. It parses the body, hashes the key, sets six headers and relays the
 * response with backpressure. No limits, no policy, no wallet, no record.
 */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type Dispatcher, Pool } from "undici";

const [port, jsonOrigin = "", streamOrigin = ""] = process.argv.slice(2);
const POOL_OPTIONS = { connections: 1024, connectTimeout: 5_000, headersTimeout: 30_000, bodyTimeout: 30_000 };
const jsonPool = new Pool(jsonOrigin, POOL_OPTIONS);
const streamPool = new Pool(streamOrigin, POOL_OPTIONS);
const BODY_BYTES_MAX = 1_000_000;
let served = 0;

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  let bytes = 0;
  request.on("data", (part: Buffer) => {
    parts.push(part);
    bytes += part.length;
    if (bytes > BODY_BYTES_MAX) request.destroy();
  });
  request.on("end", () => forward(request, response, parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts)));
});

function forward(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  const digest = createHash("sha256")
    .update(request.headers.authorization ?? "")
    .digest("hex");
  const parsed: unknown = JSON.parse(body.toString("utf8"));
  const pool = isStreamed(parsed) ? streamPool : jsonPool;
  let upstream: Dispatcher.DispatchController | undefined;
  let finished = false;
  response.on("drain", () => upstream?.resume());
  response.on("close", () => {
    if (!finished) upstream?.abort(new Error("the client has gone"));
  });
  pool.dispatch(
    {
      path: "/v1/chat/completions",
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer upstream", accept: "*/*" },
      body,
    },
    {
      onRequestStart(controller) {
        upstream = controller;
      },
      onResponseStart(_controller, status, headers) {
        response.writeHead(status, answerHeaders(headers, digest));
      },
      onResponseData(controller, part) {
        if (!response.write(part)) controller.pause();
      },
      onResponseEnd() {
        finished = true;
        response.end();
      },
      onResponseError() {
        finished = true;
        if (response.headersSent) response.destroy();
        else response.writeHead(502).end();
      },
    },
  );
}

function isStreamed(body: unknown): boolean {
  return typeof body === "object" && body !== null && "stream" in body && body.stream === true;
}

function answerHeaders(
  upstream: Record<string, string | string[] | undefined>,
  digest: string,
): Record<string, string> {
  const length = upstream["content-length"];
  return {
    "content-type": String(upstream["content-type"] ?? "application/json"),
    ...(typeof length === "string" ? { "content-length": length } : {}),
    "x-request-id": `req_${served++}`,
    "x-ratelimit-limit": "1000000",
    "x-ratelimit-remaining": "999999",
    "x-ratelimit-reset": "60",
    "x-key": digest.slice(0, 8),
    "x-provider": "bench",
  };
}

server.keepAliveTimeout = 600_000;
server.listen(Number(port), "127.0.0.1", 4096);
