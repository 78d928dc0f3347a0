import { expect, test } from "vitest";
import type { CaptureWindow } from "../../domain/record/capture.ts";
import type { Surface } from "../../domain/record/record.ts";
import type { ResponseSink } from "../exchange.ts";
import { CaptureMemory, CaptureRecorder, type RecordedExchange } from "./capture-recorder.ts";

const WINDOW: CaptureWindow = {
  id: "cap_1",
  workspaceId: "ws_1",
  openedAtMs: 0,
  closesAtMs: 1000,
  closedAtMs: null,
  retentionMs: 1000,
  scope: { keys: null, surfaces: null, environment: null },
  openedBy: "operator",
  reason: null,
};
const ITEM_MAX = 100_000;

/** Takes everything and keeps nothing. */
const NOWHERE: ResponseSink = {
  started: true,
  disconnected: false,
  start: () => undefined,
  write: () => true,
  drained: async () => undefined,
  end: () => undefined,
  abort: () => undefined,
  onDisconnect: () => undefined,
};

function listening(room: CaptureMemory, recorded: RecordedExchange[]) {
  const target = { requestId: "r", keyId: "key_1", window: WINDOW, atMs: 1, surface: "chat" } as const;
  const capturing = new CaptureRecorder(target, ITEM_MAX, room, (one) => recorded.push(one));
  return { capturing, sink: capturing.wrapSink(NOWHERE) };
}

test("LOG-03 200 concurrent streams stay within the memory limit; truncated captures are marked", () => {
  const roomBytes = 1_000_000;
  const room = new CaptureMemory(roomBytes);
  const recorded: RecordedExchange[] = [];
  const streams = Array.from({ length: 200 }, () => listening(room, recorded));
  const frame = `data: ${"x".repeat(994)}`;
  for (let frames = 0; frames < 50; frames += 1) for (const { sink } of streams) sink.write(frame);
  for (const { capturing } of streams) capturing.finish();
  const held = recorded.reduce((sum, { response }) => sum + (response?.length ?? 0), 0);
  expect(held).toBeLessThanOrEqual(roomBytes);
  expect(held).toBeGreaterThan(roomBytes / 2);
  for (const { response, cut } of recorded) {
    expect(response?.length).toBeLessThan(50_000);
    expect(cut).toEqual([{ part: "answer", ofBytes: 50_000 }]);
  }
  // The room is free again when they are over, and what had a gap is not gone on with.
  const { capturing, sink } = listening(room, recorded);
  for (let frames = 0; frames < 50; frames += 1) sink.write(frame);
  capturing.finish();
  expect(recorded.at(-1)).toMatchObject({ response: frame.repeat(50), cut: [] });
});

test("LOG-03 a request that opts out buffers nothing", () => {
  const room = new CaptureMemory(1000);
  const recorded: RecordedExchange[] = [];
  const { capturing, sink } = listening(room, recorded);
  sink.write("x".repeat(400));
  capturing.optOut();
  sink.write("x".repeat(600));
  capturing.finish();
  expect(recorded).toEqual([]);
  expect(room.take(1000)).toBe("taken");
});

test.each<[Surface, boolean]>([
  ["chat", true],
  ["messages", true],
  ["responses", true],
  ["decisions", true],
  ["transcriptions", true],
  ["embeddings", false],
  ["speech", false],
])("LOG-03 the response of %s is captured: %s", (surface, isKept) => {
  const recorded: RecordedExchange[] = [];
  const target = { requestId: "r", keyId: "key_1", window: WINDOW, atMs: 1, surface };
  const capturing = new CaptureRecorder(target, ITEM_MAX, new CaptureMemory(1000), (one) => recorded.push(one));
  capturing.wrapSink(NOWHERE).write("an answer");
  capturing.finish();
  expect(recorded).toMatchObject([{ response: isKept ? "an answer" : null, cut: [] }]);
});
