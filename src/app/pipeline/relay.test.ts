import { describe, expect, test } from "vitest";
import { headOf } from "../../../tests/support/chat.ts";
import { ResponseGuard } from "../../io/upstream/response-guard.ts";
import type { UpstreamAdapter } from "../../io/upstream/upstream-adapter.ts";
import { DeadlineQueue } from "../../kit/deadline-queue.ts";
import { SseReader } from "../../kit/sse.ts";
import { PassthroughChatStream } from "../../language/dialects/chat/passthrough/stream.ts";
import { decodeProblem } from "../../language/dialects/chat/upstream/errors.ts";
import type { ResponseSink } from "../exchange.ts";
import { Relay } from "./relay.ts";
import { streamReader } from "./relay-stream.ts";

const KEEP_ALIVE_MS = 100;
const ADAPTER: UpstreamAdapter = {
  surface: "chat",
  path: "/chat/completions",
  auth: "bearer",
  headers: {},
  streamContentType: "text/event-stream",
  keepAliveFrame: ": quiet\n\n",
  effort: undefined,
  encode: () => "",
  decodeResponse: () => undefined,
  openFrameReader: ({ frameMaxChars }) => new SseReader(frameMaxChars),
  openReplyStream: () => new PassthroughChatStream(headOf("own"), false),
  decodeProblem,
};

/** A relay on a manual clock. */
function openRelay() {
  let nowMs = 0;
  const timers = new Map<object, { readonly atMs: number; then(): void }>();
  const sent: string[] = [];
  let gone = false;
  let room = Promise.withResolvers<void>();
  const sink: ResponseSink = {
    started: true,
    get disconnected() {
      return gone;
    },
    start() {},
    write(chunk) {
      const blocks = String(chunk).split("\n\n").slice(0, -1);
      sent.push(...blocks.map((block) => `${nowMs}: ${block.startsWith("data") ? "frame" : block.slice(2)}`));
      return true;
    },
    drained: () => room.promise,
    end() {},
    abort() {},
    onDisconnect() {},
  };
  const limits = {
    ...{
      holdOutputTokens: 1,
      requestTimeoutMs: 1000,
      responseMaxBytes: 1,
      frameMaxChars: 10_000,
      binaryFrameMaxBytes: 10_000,
      preambleMaxChars: 10_000,
      attemptsMax: 1,
      queueWaitMs: 1,
    },
    keepAliveMs: KEEP_ALIVE_MS,
  };
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const after = (ms: number, then: () => void) => {
    const timer = { refresh() {}, [Symbol.dispose]: () => void timers.delete(timer) };
    timers.set(timer, { atMs: nowMs + ms, then });
    return timer;
  };
  const relay = new Relay(
    sink,
    {
      limits,
      responses: new ResponseGuard(),
      clock,
      timers: { after },
      keepAlives: new DeadlineQueue(clock, { after }),
    },
    { onCommit: () => undefined, onFirstContent: () => undefined },
  );
  const call = { abort() {}, resume() {} };
  const headers = { "content-type": "text/event-stream" };
  const attempt = () =>
    streamReader(relay, { headers, call, adapter: ADAPTER, provider: "p", workspaceId: "w", resolve() {} });
  let reader = attempt();
  const send = (data: object) => reader.onData(Buffer.from(`data: ${JSON.stringify(data)}\n\n`));
  const piece = (delta: object) => ({ id: "x", choices: [{ index: 0, delta }] });
  return {
    sent,
    relay,
    leave() {
      gone = true;
    },
    async read() {
      room.resolve();
      room = Promise.withResolvers<void>();
      await Promise.resolve();
    },
    begin: () => send(piece({ role: "assistant" })),
    speak: () => send(piece({ content: "a" })),
    /** The endpoint fails and the next one is tried. */
    moveOn() {
      send({ error: { code: 529 } });
      reader = attempt();
    },
    wait(ms: number) {
      const untilMs = nowMs + ms;
      for (;;) {
        const [next] = [...timers].filter(([, { atMs }]) => atMs <= untilMs).toSorted((a, b) => a[1].atMs - b[1].atMs);
        if (next === undefined) break;
        timers.delete(next[0]);
        nowMs = next[1].atMs;
        next[1].then();
      }
      nowMs = untilMs;
    },
  };
}

test("CHAT-10 the keep-alive interval starts at the last frame or keep-alive", () => {
  const { sent, speak, wait, relay } = openRelay();
  for (let frame = 0; frame < 10; frame += 1) {
    speak();
    wait(30);
  }
  expect(sent.filter((line) => line.endsWith("quiet"))).toEqual([]);
  wait(300);
  speak();
  wait(150);
  relay.stop();
  wait(1000);
  const quiet = ["370: quiet", "470: quiet", "570: quiet", "600: frame", "700: quiet"];
  expect(sent.slice(10)).toEqual(quiet);
});

test("CHAT-10 keep-alives use the dialect's event once the provider's stream has begun", () => {
  const { sent, begin, wait } = openRelay();
  wait(KEEP_ALIVE_MS);
  begin();
  wait(KEEP_ALIVE_MS);
  expect(sent).toEqual(["100: keep-alive", "100: frame", "200: quiet"]);
});

test("CHAT-10 ROUTE-04 after a failed endpoint keep-alives are comments again", () => {
  const { sent, begin, moveOn, wait } = openRelay();
  begin();
  moveOn();
  wait(KEEP_ALIVE_MS);
  expect(sent).toEqual(["100: keep-alive"]);
});

test("BILL-02 content after a disconnect does not count as sent", () => {
  const { relay, leave, speak } = openRelay();
  leave();
  speak();
  expect(relay.hasSentContent).toBe(false);
});

describe("at the deadline a client", () => {
  test("BILL-02 that was waited for most of the time counts as disconnected, even after a late read", async () => {
    const { relay, wait, read, speak } = openRelay();
    speak();
    relay.resumeWhenDrained(() => undefined);
    wait(990);
    await read();
    wait(10);
    relay.expire();
    expect(relay.clientStoppedReading).toBe(true);
  });

  test("BILL-02 without any content does not count as disconnected", () => {
    const { relay, wait } = openRelay();
    wait(KEEP_ALIVE_MS);
    relay.resumeWhenDrained(() => undefined);
    wait(1000 - KEEP_ALIVE_MS);
    relay.expire();
    expect([relay.committed, relay.clientStoppedReading]).toEqual([true, false]);
  });

  test("BILL-02 is waited for once, however many chunks arrive meanwhile", async () => {
    const { relay, wait, read, speak } = openRelay();
    const resumed: number[] = [];
    speak();
    for (const piece of [1, 2, 3]) relay.resumeWhenDrained(() => resumed.push(piece));
    wait(300);
    await read();
    wait(700);
    relay.expire();
    expect({ left: relay.clientStoppedReading, resumed }).toEqual({ left: false, resumed: [1] });
  });

  test("BILL-02 that was slow for a while and then read everything does not count as disconnected", async () => {
    const { relay, wait, read } = openRelay();
    relay.resumeWhenDrained(() => undefined);
    wait(400);
    await read();
    wait(600);
    relay.expire();
    expect(relay.clientStoppedReading).toBe(false);
  });
});
