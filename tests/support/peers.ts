import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer as createTcp, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { loadCatalogue } from "../../src/domain/catalogue/load.ts";
import type { CoordinationStore } from "../../src/domain/fleet/coordination-store.ts";
import { CIRCUIT_BREAKER_RULES } from "../../src/domain/routing/failing-circuits.ts";
import type { WorkspaceNode } from "../../src/domain/tenancy/node.ts";
import { MasterKeys } from "../../src/io/master-keys.ts";
import { NodeRegistry } from "../../src/io/tunnel/node-registry.ts";
import type { PeerClient, RemoteNodeTarget } from "../../src/io/tunnel/peer-client.ts";
import { derivePeerKeys } from "../../src/io/tunnel/peer-keys.ts";
import { openPeerNetwork } from "../../src/io/tunnel/peer-network.ts";
import type { UpstreamCall, UpstreamFailure } from "../../src/io/upstream/transport.ts";
import { memoryCoordinationStore } from "../../src/io/workers/memory-coordination-store.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { randomToken, sha256Hex } from "../../src/kit/secret.ts";
import { systemTimers } from "../../src/kit/timers.ts";
import type { Json } from "./gateway.ts";
import { type RunningAgent, startAgent, startLocal } from "./nodes.ts";
import { memoryFiles, NOON_MS, sampleFiles } from "./small-catalogue.ts";

const loaded = await loadCatalogue(["catalogue"], NOON_MS, memoryFiles("catalogue", sampleFiles()));
if (!("snapshot" in loaded)) throw new Error("the small catalogue does not load");
const { snapshot } = loaded;

export const TOKEN = "nt_svc_of-the-rack";
export const RACK: WorkspaceNode = {
  id: "node_1",
  workspaceId: "ws_1",
  name: "rack",
  country: "DE",
  digest: sha256Hex(TOKEN),
  createdAtMs: 1,
  createdBy: "ada@example.eu",
  mapping: {},
  surfaces: {},
  attestations: [],
  lastSeenAtMs: null,
};
export const KEY = Buffer.alloc(32, 7);

export const testCoordinationStore = () => memoryCoordinationStore(systemClock, systemTimers);
type Options = { store: CoordinationStore; key?: Buffer; previous?: Buffer[] };

export const RULES = {
  clock: systemClock,
  timers: systemTimers,
  pingEveryMs: 300,
  pingTimeoutMs: 1_000,
  announceEveryMs: 1_000,
  idleTimeoutMs: 5_000,
  everyMs: 60,
  ttlMs: 240,
  connectTimeoutMs: 5_000,
  seenEveryMs: 100,
  calls: { firstByteTimeoutMs: 60_000, idleTimeoutMs: 60_000 },
  breakers: CIRCUIT_BREAKER_RULES,
  circuit: { initialMs: 60_000, maxMs: 60_000 },
};

/** One instance: its registry, its node listener and its peer listener. */
export async function instance(id: string, { store, key = KEY, previous = [] }: Options) {
  const refused: string[] = [];
  const seen: string[] = [];
  const nodes = new NodeRegistry(RULES, () => snapshot, {
    onSeen: (ids) => seen.push(...ids),
    onCircuitOpened() {},
  });
  nodes.upsert(RACK);
  const server = createServer();
  server.on("upgrade", (request, socket, head) => {
    const token = request.headers.authorization?.slice("Bearer ".length) ?? "";
    const node = nodes.findByTokenDigest(sha256Hex(token));
    if (node === undefined) socket.end("HTTP/1.1 401 Unauthorized\r\nconnection: close\r\n\r\n");
    else nodes.accept(node, "127.0.0.1", request, socket, head);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  let peerUrl = "";
  const front = await forwarding(() => peerUrl);
  const peers = await openPeerNetwork({
    store,
    keys: derivePeerKeys(new MasterKeys(key, previous)),
    nodes,
    instance: { id, runId: randomToken(9) },
    rules: RULES,
    host: "127.0.0.1",
    port: 0,
    advertisedUrl(bound) {
      peerUrl = `https://127.0.0.1:${bound}`;
      return front.url.replace("http:", "https:");
    },
    onRejected: (why) => refused.push(why),
    onError(error) {
      throw error;
    },
  });
  onTestFinished(async () => {
    nodes.close();
    await peers.close();
    server.closeAllConnections();
    server.close();
  });
  return {
    nodes,
    peers,
    refused,
    seen,
    front,
    url: `http://127.0.0.1:${portOf(server)}`,
    peerPort: () => portIn(peerUrl),
  };
}

const portIn = (url: string): number => Number(new URL(url).port);

const portOf = (server: { address(): AddressInfo | string | null }): number => {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
};

export type Instance = Awaited<ReturnType<typeof instance>>;

export async function local(answer: (body: Json, response: ServerResponse) => void) {
  const server = await startLocal({ answer });
  onTestFinished(() => server.close());
  return server;
}

export function agentAt(url: string, upstream: string, over: Parameters<typeof startAgent>[3] = {}): RunningAgent {
  const agent = startAgent(url, TOKEN, upstream, { finishMs: 2_000, ...over });
  onTestFinished(async () => {
    await agent.stop();
  });
  return agent;
}

export async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; !isSo(); tries += 1) {
    if (tries > 1_000) throw new Error("it did not happen in time");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export const instanceOf = ({ nodes }: Instance, id = RACK.id) => nodes.statusOf(id).live?.instance;
export const isThrough = (one: Instance, id: string) => until(() => instanceOf(one) === id);

type PeerResponse = { status: number; text: string; failure: UpstreamFailure | undefined };

export function ask({ nodes }: Instance, body: Json = {}, on: (call: UpstreamCall) => "more" | "pause" = () => "more") {
  let call: UpstreamCall = { abort() {}, resume() {} };
  const got: PeerResponse = { status: 0, text: "", failure: undefined };
  const done = new Promise<PeerResponse>((resolve) => {
    const onFailure = (failure: UpstreamFailure) => resolve(Object.assign(got, { failure }));
    call = nodes.send(
      { url: `tunnel://${RACK.id}/v1/chat/completions`, headers: { host: "x" }, body: JSON.stringify(body) },
      {
        onFailure,
        onHeaders(status) {
          got.status = status;
          return {
            onData(chunk) {
              got.text += chunk.toString("latin1");
              return on(call);
            },
            onEnd: () => resolve(got),
            onFailure,
          };
        },
      },
    );
  });
  return { done, got, abort: () => call.abort(), resume: () => call.resume() };
}

export const keyIds = () => derivePeerKeys(new MasterKeys(KEY)).ids();

export function carried(links: PeerClient, to: RemoteNodeTarget, path = "/v1/chat/completions"): Promise<PeerResponse> {
  const got: PeerResponse = { status: 0, text: "", failure: undefined };
  return new Promise((resolve) => {
    const onFailure = (failure: UpstreamFailure) => resolve({ ...got, failure });
    links.send(
      to,
      { url: `tunnel://${to.nodeId}${path}`, headers: {}, body: "{}" },
      {
        onFailure,
        onHeaders(status) {
          got.status = status;
          return {
            onData(chunk) {
              got.text += chunk.toString();
              return "more";
            },
            onEnd: () => resolve(got),
            onFailure,
          };
        },
      },
    );
  });
}

/** Forwards connections to an address that may change, after a delay, and keeps the bytes sent to it. */
export async function forwarding(target: () => string, afterMs = 0) {
  const recorded: Buffer[] = [];
  const sockets = new Set<Socket>();
  let isSilent = false;
  const server = createTcp(async (client) => {
    if (afterMs > 0) await sleep(afterMs);
    if (isSilent) {
      sockets.add(client.pause());
      return;
    }
    const to = connect(portIn(target()), "127.0.0.1");
    client.on("data", (bytes) => recorded.push(Buffer.from(bytes)));
    for (const [one, other] of [
      [client, to],
      [to, client],
    ] satisfies [Socket, Socket][]) {
      sockets.add(one.pipe(other));
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  /** Accepts connections as before, and forwards nothing. */
  const fallSilent = () => {
    isSilent = true;
    for (const socket of sockets) socket.unpipe();
  };
  onTestFinished(close);
  return { url: `http://127.0.0.1:${portOf(server)}`, recorded, close, fallSilent };
}
