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

function startRecording(memory: CaptureMemory, recorded: RecordedExchange[]) {
  const target = { requestId: "r", keyId: "key_1", window: WINDOW, atMs: 1, surface: "chat" } as const;
  const recorder = new CaptureRecorder(target, ITEM_MAX, memory, (one) => recorded.push(one));
  return { recorder, sink: recorder.wrapSink(NOWHERE) };
}

test("LOG-03 200 concurrent streams stay within the memory limit; truncated captures are marked", () => {
  const limitBytes = 1_000_000;
  const memory = new CaptureMemory(limitBytes);
  const recorded: RecordedExchange[] = [];
  const streams = Array.from({ length: 200 }, () => startRecording(memory, recorded));
  const frame = `data: ${"x".repeat(994)}`;
  for (let frames = 0; frames < 50; frames += 1) for (const { sink } of streams) sink.write(frame);
  for (const { recorder } of streams) recorder.finish();
  const bufferedChars = recorded.reduce((sum, { response }) => sum + (response?.length ?? 0), 0);
  expect(bufferedChars).toBeLessThanOrEqual(limitBytes);
  expect(bufferedChars).toBeGreaterThan(limitBytes / 2);
  for (const { response, cut } of recorded) {
    expect(response?.length).toBeLessThan(50_000);
    expect(cut).toEqual([{ part: "answer", ofBytes: 50_000 }]);
  }
  // The memory is free again afterwards.
  const { recorder, sink } = startRecording(memory, recorded);
  for (let frames = 0; frames < 50; frames += 1) sink.write(frame);
  recorder.finish();
  expect(recorded.at(-1)).toMatchObject({ response: frame.repeat(50), cut: [] });
});

test("LOG-03 a request that opts out buffers nothing", () => {
  const memory = new CaptureMemory(1000);
  const recorded: RecordedExchange[] = [];
  const { recorder, sink } = startRecording(memory, recorded);
  sink.write("x".repeat(400));
  recorder.optOut();
  sink.write("x".repeat(600));
  recorder.finish();
  expect(recorded).toEqual([]);
  expect(memory.take(1000)).toBe("taken");
});

test.each<[Surface, boolean]>([
  ["chat", true],
  ["messages", true],
  ["responses", true],
  ["decisions", true],
  ["transcriptions", true],
  ["embeddings", false],
  ["speech", false],
])("LOG-03 the response of %s is captured: %s", (surface, isCaptured) => {
  const recorded: RecordedExchange[] = [];
  const target = { requestId: "r", keyId: "key_1", window: WINDOW, atMs: 1, surface };
  const recorder = new CaptureRecorder(target, ITEM_MAX, new CaptureMemory(1000), (one) => recorded.push(one));
  recorder.wrapSink(NOWHERE).write("an answer");
  recorder.finish();
  expect(recorded).toMatchObject([{ response: isCaptured ? "an answer" : null, cut: [] }]);
});
