import { once } from "node:events";
import { createServer } from "node:http";
import { performServerHandshake, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createWebSocketStream, WebSocket } from "ws";
import { systemClock } from "../../kit/clock.ts";
import { systemTimers } from "../../kit/timers.ts";
import { CLOSE_CODES, END_TRAILER, SUBPROTOCOL, TUNNEL_PATH } from "./protocol.ts";
import { TunnelHub } from "./tunnel-hub.ts";

const SECOND = 1_000;
const RULES = {
  clock: systemClock,
  timers: systemTimers,
  pingEveryMs: SECOND,
  pingTimeoutMs: SECOND,
  announceEveryMs: SECOND,
  calls: { firstByteTimeoutMs: SECOND, idleTimeoutMs: SECOND },
};
const MODEL = {
  id: "tiny",
  surfaces: ["chat"],
  context_tokens: null,
  max_output_tokens: null,
  tools: null,
  json_schema: null,
  image_input: null,
  reasoning: null,
};
const ANNOUNCEMENT = JSON.stringify({ protocol: 1, agent: "1", server: "", capacity: 1, models: [MODEL] });

/** A node that announces itself with this text. */
function connectNode(url: string, text: string): WebSocket {
  const node = new WebSocket(url, SUBPROTOCOL);
  // At once: the gateway's first bytes follow the handshake.
  node.once("open", () => {
    const carrier = createWebSocketStream(node);
    carrier.on("error", () => {});
    const session = performServerHandshake(carrier);
    session.on("error", () => {});
    session.on("stream", (stream: ServerHttp2Stream) => {
      stream.on("error", () => {});
      stream.once("wantTrailers", () => stream.sendTrailers({ [END_TRAILER]: "whole" }));
      stream.respond({ ":status": 200 }, { waitForTrailers: true });
      stream.end(text);
    });
  });
  return node;
}

test("SAFE-01 the model list of a node has the limits of documents; beyond them its connection is closed", async () => {
  const announced = Promise.withResolvers<string>();
  const server = createServer();
  const hub = new TunnelHub(RULES, {
    onAnnounced: ({ nodeId }) => announced.resolve(nodeId),
    onDisconnected() {},
  });
  server.on("upgrade", (request, socket, head) =>
    hub.accept(String(request.url).slice(TUNNEL_PATH.length + 1), "127.0.0.1", request, socket, head),
  );
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    hub.close();
    server.close();
  });
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}${TUNNEL_PATH}`;
  const announcing = (name: string, pad: string) =>
    connectNode(`${url}/${name}`, `${ANNOUNCEMENT.slice(0, -1)},"pad":${pad}}`);
  for (const pad of [`${"[".repeat(200)}${"]".repeat(200)}`, `[${"0,".repeat(40_000)}0]`]) {
    const [code] = await once(announcing("hostile", pad), "close");
    expect(code).toBe(CLOSE_CODES.unreadable);
  }
  announcing("ordinary", "[[0]]");
  expect(await announced.promise).toBe("ordinary");
});
