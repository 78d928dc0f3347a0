import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { type AgentOptions, type AgentStatus, NodeAgent } from "../../src/io/tunnel/node-agent.ts";
import { PROBE_USER_AGENT } from "../../src/io/tunnel/surface-probe.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { systemTimers } from "../../src/kit/timers.ts";
import type { Json, TestGateway } from "./gateway.ts";

export type LocalServer = {
  /** With `/v1`, as for `--upstream`. */
  readonly url: string;
  /** Bodies of the received requests. */
  readonly received: Json[];
  /** Releases held replies. */
  release(): void;
  close(): Promise<void>;
};

type LocalOptions = {
  readonly models?: readonly string[];
  /** Replaces the default reply. */
  readonly answer?: (body: Json, response: ServerResponse) => void;
  /** Models that answer embeddings when the agent probes them; all others refuse with 404. */
  readonly embeds?: readonly string[];
  /** Replies wait for `release`. */
  readonly held?: boolean;
};

/** A local server beside an agent: it has models, and replies to chats with a greeting. */
export async function startLocal({
  models = ["tiny"],
  answer,
  held = false,
  embeds = [],
}: LocalOptions = {}): Promise<LocalServer> {
  const received: Json[] = [];
  let waiting: (() => void)[] = [];
  const server = createServer(async (request, response) => {
    if (request.url === "/v1/models") return sendJson(response, { data: models.map((id) => ({ id })) });
    if (request.method === "GET") return response.writeHead(404).end();
    const body: Json = JSON.parse(await textOf(request));
    if (request.headers["user-agent"] === PROBE_USER_AGENT) {
      const isEmbedding = request.url === "/v1/embeddings" && embeds.includes(body.model);
      return isEmbedding ? sendJson(response, { data: [{ embedding: [0.1] }] }) : response.writeHead(404).end();
    }
    received.push(body);
    if (held) await new Promise<void>((resolve) => waiting.push(resolve));
    if (answer !== undefined) return answer(body, response);
    sendJson(response, chatAnswer(body.model));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    received: received,
    release() {
      for (const go of waiting) go();
      waiting = [];
    },
    async close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

export async function localForTest(options: LocalOptions = {}): Promise<LocalServer> {
  const server = await startLocal(options);
  onTestFinished(() => server.close());
  return server;
}

export function chatAnswer(model: string, text = "Hello from the rack."): Json {
  return {
    id: "chatcmpl-local-1",
    object: "chat.completion",
    created: 1,
    model,
    choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
    usage: { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
}

function sendJson(response: ServerResponse, body: Json): void {
  response.setHeader("content-type", "application/json");
  response.setHeader("server", "local-test");
  response.end(JSON.stringify(body));
}

export type RunningAgent = {
  readonly statuses: AgentStatus[];
  /** Resolves with the reason when it gave up, with undefined when it was stopped. */
  readonly over: Promise<string | undefined>;
  stop(): Promise<string | undefined>;
};

/** An agent in this process. */
export function startAgent(gateway: string, token: string, upstream: string, over: Partial<AgentOptions> = {}) {
  const statuses: AgentStatus[] = [];
  const stopping = new AbortController();
  const agent = new NodeAgent({
    gateway: new URL(gateway),
    token,
    local: { base: new URL(upstream), key: null },
    capacity: 8,
    chosen: [],
    surfaces: {},
    version: "test",
    env: {},
    finishMs: 5_000,
    timers: systemTimers,
    monotonicMs: systemClock.monotonicMs,
    random: () => 0,
    report: (status) => statuses.push(status),
    ...over,
  });
  const ended = agent.run(stopping.signal);
  const running: RunningAgent = {
    statuses,
    over: ended,
    stop() {
      stopping.abort();
      return ended;
    },
  };
  return running;
}

/** As `startAgent`, stopped at the end of the running test. */
export function agentForTest(...args: Parameters<typeof startAgent>): RunningAgent {
  const agent = startAgent(...args);
  onTestFinished(async () => {
    await agent.stop();
  });
  return agent;
}

export type CreatedNode = { readonly id: string; readonly name: string; readonly token: string };

type Managed = Pick<TestGateway, "manage">;

export function createNode(gateway: Managed, workspace: string, name: string, more: Json = {}): Promise<CreatedNode> {
  return gateway.manage("POST", `/workspaces/${workspace}/nodes`, { name, country: "DE", ...more });
}

/** Waits until a node is in a state. */
export async function waitForNodeState(
  gateway: Managed,
  workspace: string,
  name: string,
  state: string,
): Promise<Json> {
  for (let tries = 0; tries < 400; tries += 1) {
    const node: Json = await gateway.manage("GET", `/workspaces/${workspace}/nodes/${name}`);
    if (node.state === state) return node;
    await sleep(25);
  }
  throw new Error(`the node ${name} is not ${state}`);
}
