import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buffered, type Handler } from "../../src/app/exchange.ts";
import { readJson } from "../../src/app/request-input.ts";
import { toFault } from "../../src/app/to-fault.ts";
import { ROUTES } from "../../src/contract/routes.ts";
import { Directory } from "../../src/domain/tenancy/directory.ts";
import { EdgeServer } from "../../src/edge/edge-server.ts";
import { OperatorTokenVerifier } from "../../src/edge/operator-token-verifier.ts";
import { AddressRateLimiter } from "../../src/edge/request-router.ts";
import { singleInstanceFleet } from "../../src/io/fleet/single-instance-fleet.ts";
import { memoryState } from "../../src/io/state/memory-state.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { createIdGenerator } from "../../src/kit/id-generator.ts";
import { JsonInTurns } from "../../src/kit/json-in-turns.ts";
import { RateLimiter } from "../../src/kit/rate-limiter.ts";
import { answersIn, expectWireEnvelope, type WireAnswer } from "./wire.ts";

const TOKEN = "operator-token";
const PATIENCE = { headersMs: 2_000, requestMs: 6_000, checkEveryMs: 50, stallMs: 60_000, idleMs: 100 };

let edge: EdgeServer;
let url: string;
/** Errors of handlers that waited for a body that never completed. */
const unread: string[] = [];

/** The real edge with short timeouts; its handlers only read the body. */
beforeAll(async () => {
  edge = new EdgeServer({
    switchedOff: new Set(),
    routes: ROUTES,
    directory: new Directory(),
    fleet: singleInstanceFleet("test"),
    state: memoryState(systemClock),
    clock: systemClock,
    ids: createIdGenerator(() => systemClock.nowMs()),
    addressLimit: new AddressRateLimiter(0, systemClock),
    managerLimit: new RateLimiter(0, systemClock),
    trustedProxies: undefined,
    onUntrustedForward: () => undefined,
    managerAuth: {
      operatorTokens: new OperatorTokenVerifier(
        { adminToken: TOKEN, tries: 10, windowMs: 60_000 },
        systemClock,
        () => undefined,
      ),
      tokens: new Directory().tokens,
      publicUrl: null,
    },
    bodyLimits: { jsonMaxBytes: 1_000_000, uploadMaxBytes: 1_000_000, fileMaxBytes: 1_000_000 },
    cors: { origins: [] },
    webSockets: { perKeyMax: 0, idleMs: 60_000 },
    timeouts: PATIENCE,
    rpmDefaults: { live: 300, test: 30 },
    onServerFault: () => undefined,
    metrics: { recordHttpResponse: () => undefined },
  });
  const reading = buffered(async (exchange) => {
    if (exchange.route.intake === "none") return { status: 200 };
    try {
      return { status: 200, json: (await readJson(exchange)).value };
    } catch (error) {
      unread.push(toFault(error).code);
      throw error;
    }
  });
  const handlers: Record<string, Handler> = Object.fromEntries(ROUTES.map(({ id }) => [id, reading]));
  url = await edge.listener.listen("127.0.0.1", 0);
  edge.open({
    nodes: { findByTokenDigest: () => undefined, accept() {} },
    secretsOf: () => [],
    json: new JsonInTurns(),
    personOf: async () => undefined,
    handlers,
  });
});
afterAll(async () => {
  await edge.listener.drain(0);
  await edge.listener.closeAll();
});

type Trickled = { answers: WireAnswer[]; lastedMs: number; end: "closed by the server" | "given up" };

/** Sends a first chunk, then single bytes until the connection is closed. */
async function trickle(first: string, drop: string): Promise<Trickled> {
  const socket = connect({ host: "127.0.0.1", port: Number(new URL(url).port) });
  const chunks: Buffer[] = [];
  const startedMs = performance.now();
  let open = true;
  socket.on("data", (chunk) => chunks.push(Buffer.from(chunk)));
  socket.on("error", () => undefined);
  socket.on("close", () => {
    open = false;
  });
  socket.write(first);
  while (open && performance.now() - startedMs < 20_000) {
    await sleep(20);
    if (open && chunks.length === 0) socket.write(drop);
  }
  socket.destroy();
  const end = open ? "given up" : "closed by the server";
  return { answers: answersIn(Buffer.concat(chunks)), lastedMs: performance.now() - startedMs, end };
}

async function post(): Promise<number> {
  const answer = await fetch(`${url}/manage/workspaces`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: "{}",
  });
  await answer.text();
  return answer.status;
}

const HEAD = `POST /manage/workspaces HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\n`;

describe("clients that never finish", () => {
  test.concurrent("an idle connection is closed after the advertised timeout, one that awaits a response is not", async () => {
    const [idle, waiting] = [
      trickle("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", ""),
      trickle(`${HEAD}Content-Length: 9\r\n\r\n`, ""),
    ];
    const { answers, end } = await idle;
    expect([end, ...answers.map(({ status }) => status)]).toEqual(["closed by the server", 200]);
    expect((await waiting).answers.map(({ status }) => status)).toEqual([408]);
  });

  test.concurrent.each([
    ["a head, line by line", "GET /healthz HTTP/1.1\r\nHost: a\r\n", "x-a: b\r\n", "headersMs"],
    ["a head, byte by byte", "GET /healthz HTTP/1.1\r\nX-A: ", "a", "headersMs"],
    ["a body, byte by byte", `${HEAD}Content-Length: 900000\r\n\r\n`, " ", "requestMs"],
    ["a body in chunks of one", `${HEAD}Transfer-Encoding: chunked\r\n\r\n`, "1\r\n \r\n", "requestMs"],
  ] as const)(
    "ERR-01 %s: 408 in the envelope after the timeout, and others are served meanwhile",
    async (_, first, drop, limit) => {
      const slow = Array.from({ length: 20 }, () => trickle(first, drop));
      for (let call = 0; call < 20; call += 1) expect(await post()).toBe(200);
      for (const { answers, lastedMs } of await Promise.all(slow)) {
        expect(answers).toHaveLength(1);
        const [answer] = answers;
        if (answer === undefined) continue;
        expect(answer.status).toBe(408);
        expect(expectWireEnvelope(answer)).toMatchObject({ code: "request_timeout", type: "invalid_request_error" });
        expect(answer.headers.get("connection")).toBe("close");
        // Which limit applied: the head timeout ends long before the request timeout.
        expect(lastedMs < PATIENCE.requestMs ? "headersMs" : "requestMs").toBe(limit);
      }
    },
  );

  test("ERR-01 no request is left once its client was cut off", async () => {
    for (let waits = 0; edge.listener.inFlight > 0 && waits < 200; waits += 1) await sleep(10);
    expect(edge.listener.inFlight).toBe(0);
  });

  test("LOG-01 the handler of an incomplete body gets the same timeout error as its sender", () => {
    expect(new Set(unread)).toEqual(new Set(["request_timeout"]));
  });
});
