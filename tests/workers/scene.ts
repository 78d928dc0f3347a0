import { readFileSync } from "node:fs";
import { type Agent, type IncomingHttpHeaders, request } from "node:http";
import path from "node:path";
import { afterAll, beforeAll } from "vitest";
import { cleanUp, type GatewayProcess, spawnGateway } from "../edge/child.ts";
import { eventually } from "../support/eventually.ts";
import type { Json } from "../support/gateway.ts";
import { chatBody, connectedTo } from "../support/scene.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

export type WorkerGateway = {
  readonly gateway: GatewayProcess;
  readonly origin: string;
  /** Process ids of the running workers. */
  workers(): number[];
  manage(method: string, target: string, body?: unknown): Promise<Json>;
  /** A workspace with credit and a live key. */
  tenant(slug: string, credit: string, key?: Record<string, unknown>): Promise<{ id: string; key: string }>;
};

const SERVE_MS_MAX = 60_000;

/** `gateway serve --workers N`, once all workers are ready. */
export async function startWorkerGateway(
  count: number,
  upstream: Upstream,
  env: Record<string, string> = {},
): Promise<WorkerGateway> {
  const gateway = spawnGateway({
    ...connectedTo(new Map([["deepinfra", upstream]])),
    GATEWAY_WORKERS: String(count),
    GATEWAY_SANDBOX: "off",
    GATEWAY_RPM_LIVE: "1000000",
    GATEWAY_RPM_IP: "0",
    ...env,
  });
  const origin = await gateway.ready();
  await waitForLog(gateway, "workers: all ready");
  const token = env["GATEWAY_ADMIN_TOKEN"] ?? readFileSync(path.join(gateway.dataDir, "admin-token"), "utf8").trim();
  const manage: WorkerGateway["manage"] = async (method, target, body) => {
    const answer = await send(origin, `/manage${target}`, token, { method, ...(body === undefined ? {} : { body }) });
    if (answer.status >= 300) throw new Error(`${method} ${target}: ${answer.status} ${answer.text}`);
    return answer.text === "" ? undefined : JSON.parse(answer.text);
  };
  return {
    gateway,
    origin,
    workers: () => childrenOf(gateway.child.pid ?? 0),
    manage,
    async tenant(slug, credit, key = {}) {
      await manage("POST", "/workspaces", { slug });
      await manage("POST", `/workspaces/${slug}/wallet/credits`, { amount: credit });
      return manage("POST", `/workspaces/${slug}/keys`, { name: "key", environment: "live", ...key });
    },
  };
}

/** An upstream and workers in front of it for the tests of one file. */
export function workersForFile(count: number): { upstream(): Upstream; cluster(): WorkerGateway } {
  let upstream: Upstream | undefined;
  let gateway: WorkerGateway | undefined;
  beforeAll(async () => {
    upstream = await startUpstream();
    gateway = await startWorkerGateway(count, upstream);
  }, 90_000);
  afterAll(async () => {
    await cleanUp();
    await upstream?.close();
  });
  const running = <T>(part: T | undefined): T => {
    if (part === undefined) throw new Error("nothing runs outside of the tests");
    return part;
  };
  return { upstream: () => running(upstream), cluster: () => running(gateway) };
}

/** Waits until the message is logged more than `before` times. */
export function waitForLog(gateway: GatewayProcess, message: string, before = 0): Promise<void> {
  return eventually(
    () => {
      if (countInLog(gateway, message) <= before) throw new Error(`not said: ${message}\n${gateway.stderr()}`);
    },
    { timeout: SERVE_MS_MAX, interval: 25 },
  );
}

function countInLog(gateway: GatewayProcess, message: string): number {
  return gateway.stderr().split(message).length - 1;
}

/** Suspends the primary process, which stays connected; the returned function resumes it. */
export async function suspendPrimary({ gateway: { child } }: WorkerGateway): Promise<() => void> {
  child.kill("SIGSTOP");
  await eventually(() => {
    if (!/^State:\s+T/m.test(readFileSync(`/proc/${child.pid}/status`, "utf8"))) throw new Error("it still runs");
  });
  return () => void child.kill("SIGCONT");
}

/** Process ids of a process's running children, oldest first. */
export function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return text === "" ? [] : text.split(" ").map(Number);
}

export type RawResponse = { readonly status: number; readonly text: string; readonly headers: IncomingHttpHeaders };

type RawRequest = {
  readonly method?: string;
  readonly body?: unknown;
  readonly agent?: Agent | false;
  readonly headers?: Readonly<Record<string, string>>;
  /** Called on 100 Continue, before the body is sent. */
  readonly wanted?: () => Promise<void>;
};

/** Without an agent every call opens its own connection, so that all workers get some. */
export function send(
  origin: string,
  target: string,
  token: string,
  { method = "POST", body, agent = false, headers, wanted }: RawRequest = {},
): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    const call = request(`${origin}${target}`, {
      method,
      agent,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
    });
    call.on("error", reject);
    call.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("error", reject);
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text, headers: response.headers }));
    });
    const end = () => call.end(body === undefined ? undefined : JSON.stringify(body));
    if (wanted === undefined) end();
    else {
      call.setHeader("expect", "100-continue");
      call.once("continue", () => wanted().then(end, reject));
      call.flushHeaders();
    }
  });
}

/** A short reply, so that its hold is small. */
export function chat(origin: string, key: string, agent: Agent | false = false): Promise<RawResponse> {
  return send(origin, "/v1/chat/completions", key, { body: chatBody({ max_tokens: 20 }), agent });
}
