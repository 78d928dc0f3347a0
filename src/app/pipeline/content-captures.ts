import { redactAudio, redactAudioInText } from "../../domain/record/audio-redaction.ts";
import {
  type CapturedRequest,
  type CaptureStore,
  type CaptureWindow,
  OpenCaptureWindows,
  type TruncatedPart,
} from "../../domain/record/capture.ts";
import type { Surface } from "../../domain/record/record.ts";
import { requestsZeroRetention } from "../../domain/record/retention-opt-out.ts";
import type { Principal } from "../../domain/tenancy/key.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import { CaptureMemory, CaptureRecorder, type RecordedExchange } from "./capture-recorder.ts";

export type CaptureLimits = { readonly itemMaxBytes: number; readonly windowMaxBytes: number };

export type CaptureDeps = {
  readonly store: Pick<CaptureStore, "add" | "openAt" | "openWithin" | "sweep">;
  readonly clock: Clock;
  readonly limits: CaptureLimits;
  /** False if the policy requires zero data retention. */
  readonly mayKeep: (workspaceId: string, keyId: string) => boolean;
  readonly warn: Log["warn"];
};

type CaptureCaller = {
  readonly key: Pick<Principal["key"], "id" | "environment">;
  readonly workspace: Pick<Principal["workspace"], "id">;
};

/** A slow or unavailable store loses captures, never requests. */
const QUEUED_BYTES_MAX = 64 * 1024 * 1024;
const BUFFERED_BYTES_MAX = 64 * 1024 * 1024;

/** Capture windows on the request path: without an open window a request costs one lookup, and writes are never awaited. */
export class ContentCaptures {
  readonly #deps: CaptureDeps;
  readonly #windows = new OpenCaptureWindows();
  /** The open windows of a workspace, by its id; undefined without any, which is nearly always. */
  readonly openFor = this.#windows.openFor;
  /** Closed early: requests that were in flight then are not stored either. */
  readonly #endedWindows = new Set<string>();
  readonly #fullWindows = new Set<string>();
  readonly #skipped = new Map<string, number>();
  readonly #memory = new CaptureMemory(BUFFERED_BYTES_MAX);
  #changes = 0;
  #queuedBytes = 0;
  #written: Promise<void> = Promise.resolve();

  constructor(deps: CaptureDeps) {
    this.#deps = deps;
  }

  /** Called before the first request. */
  async load(): Promise<void> {
    const nowMs = this.#deps.clock.nowMs();
    await this.#deps.store.sweep(nowMs);
    for (const window of await this.#deps.store.openAt(nowMs)) this.#windows.set(window);
  }

  /** Reloads the windows of a workspace, which other instances may have changed. */
  async reload(workspaceId: string): Promise<void> {
    const { store, clock } = this.#deps;
    const changes = this.#changes;
    const nowMs = clock.nowMs();
    const open = await store.openWithin(workspaceId, nowMs, nowMs + 1);
    // A window opened here during the read is missing from the result, so the read is repeated.
    if (this.#changes !== changes) return this.reload(workspaceId);
    for (const { id, closesAtMs } of this.openFor(workspaceId) ?? []) {
      if (closesAtMs > nowMs && !open.some((window) => window.id === id)) this.windowClosed(id);
    }
    for (const window of open) if (!this.#endedWindows.has(window.id)) this.#windows.set(window);
  }

  /** For a workspace with open windows. */
  begin(surface: Surface, requestId: string, { key, workspace }: CaptureCaller): CaptureRecorder | undefined {
    const atMs = this.#deps.clock.nowMs();
    const call = { workspaceId: workspace.id, keyId: key.id, environment: key.environment, surface };
    const covering = this.#windows.covering(call, atMs);
    const window = covering.find(({ id }) => !this.#fullWindows.has(id));
    if (window === undefined) {
      for (const { id } of covering) this.#countSkipped(id);
      return undefined;
    }
    if (!this.#deps.mayKeep(workspace.id, key.id)) return undefined;
    const { itemMaxBytes } = this.#deps.limits;
    const target = { requestId, keyId: key.id, window, atMs, surface };
    return new CaptureRecorder(target, itemMaxBytes, this.#memory, (recorded) => this.#enqueue(recorded));
  }

  windowOpened(window: CaptureWindow): void {
    this.#changes += 1;
    this.#windows.set(window);
  }

  windowClosed(windowId: string): void {
    this.#windows.remove(windowId);
    this.#endedWindows.add(windowId);
  }

  /** Requests in the window that were not stored since the start, because it was full or the store failed. */
  skippedCount(windowId: string): number {
    return this.#skipped.get(windowId) ?? 0;
  }

  /** Resolves when every capture queued before the call is written or dropped. */
  flushed(): Promise<void> {
    return this.#written;
  }

  async sweep(): Promise<void> {
    const { store, clock, warn } = this.#deps;
    this.#windows.removeExpired(clock.nowMs());
    try {
      await store.sweep(clock.nowMs());
    } catch (error) {
      warn({ err: error }, "captures: sweep of expired items failed");
    }
  }

  #enqueue(recorded: RecordedExchange): void {
    const bytes = capturedBytes(recorded);
    if (this.#queuedBytes + bytes > QUEUED_BYTES_MAX) {
      this.#countSkipped(recorded.window.id);
      return;
    }
    this.#queuedBytes += bytes;
    this.#written = this.#written.then(async () => {
      // In the next tick, so that the end of the response is sent first.
      await new Promise((resolve) => setImmediate(resolve));
      await this.#store(recorded);
      this.#queuedBytes -= bytes;
    });
  }

  async #store(recorded: RecordedExchange): Promise<void> {
    const { store, limits, mayKeep, warn } = this.#deps;
    const { window, keyId, requestId } = recorded;
    if (this.#endedWindows.has(window.id) || !mayKeep(window.workspaceId, keyId)) return;
    // A refused request may opt out in its undecoded body.
    if (recorded.request !== null && requestsZeroRetention(recorded.request.toString("utf8"))) return;
    try {
      const outcome = await store.add(capturedItem(recorded, limits.itemMaxBytes), limits.windowMaxBytes);
      if (outcome === "kept") return;
      if (outcome === "full") this.#fullWindows.add(window.id);
      this.#countSkipped(window.id);
    } catch (error) {
      this.#countSkipped(window.id);
      const err = error instanceof Error ? error.message : "unknown";
      warn({ requestId, window: window.id, err }, "captures: item not stored");
    }
  }

  #countSkipped(windowId: string): void {
    this.#skipped.set(windowId, (this.#skipped.get(windowId) ?? 0) + 1);
  }
}

function capturedBytes({ request, response }: RecordedExchange): number {
  return (request?.length ?? 0) + (response?.length ?? 0);
}

function capturedItem(recorded: RecordedExchange, maxBytes: number): CapturedRequest {
  const { requestId, keyId, window, atMs } = recorded;
  const request =
    recorded.request === null
      ? undefined
      : truncatePart("request", redactAudio(recorded.request.toString("utf8")), maxBytes);
  const redact = recorded.responseFormat === "words" ? redactAudioInText : redactAudio;
  // Audio is removed before truncation, because truncated audio is not recognized any more.
  const answer = recorded.response === null ? undefined : truncatePart("answer", redact(recorded.response), maxBytes);
  const counted = recorded.cut.map(({ part }) => part);
  return {
    requestId,
    windowId: window.id,
    workspaceId: window.workspaceId,
    keyId,
    capturedAtMs: atMs,
    expiresAtMs: atMs + window.retentionMs,
    request: request?.text ?? null,
    answer: answer?.text ?? null,
    cut: [...recorded.cut, ...[request, answer].flatMap((one) => (one?.cut === undefined ? [] : [one.cut]))].filter(
      (one, index) => index < recorded.cut.length || !counted.includes(one.part),
    ),
  };
}

function truncatePart(
  part: "request" | "answer",
  text: string,
  maxBytes: number,
): { text: string; cut?: TruncatedPart } {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return { text };
  // The streaming decoder drops a character that was cut in two.
  return {
    text: new TextDecoder("utf-8").decode(bytes.subarray(0, maxBytes), { stream: true }),
    cut: { part, ofBytes: bytes.length },
  };
}
