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
  /** False under a policy of zero data retention: nothing of such a call is kept, whatever window is open. */
  readonly mayKeep: (workspaceId: string, keyId: string) => boolean;
  readonly warn: Log["warn"];
};

type CaptureCaller = {
  readonly key: Pick<Principal["key"], "id" | "environment">;
  readonly workspace: Pick<Principal["workspace"], "id">;
};

/** What waits to be written has an end: a store that is slow or away costs captured contents, and never a request. */
const QUEUED_BYTES_MAX = 64 * 1024 * 1024;
const BUFFERED_BYTES_MAX = 64 * 1024 * 1024;

/** Capture windows on the request path. While none is open a request pays one look-up; writing is never waited for. */
export class ContentCaptures {
  readonly #deps: CaptureDeps;
  readonly #windows = new OpenCaptureWindows();
  /** Closed by hand or by a policy: what was under way then is not kept either. */
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

  /** Before the first request: what expired while nobody was there goes, and windows that are open are known. */
  async load(): Promise<void> {
    const nowMs = this.#deps.clock.nowMs();
    await this.#deps.store.sweep(nowMs);
    for (const window of await this.#deps.store.openAt(nowMs)) this.#windows.set(window);
  }

  /** The windows of a workspace as the store has them now: others may have opened some, and closed some. */
  async reload(workspaceId: string): Promise<void> {
    const { store, clock } = this.#deps;
    const changes = this.#changes;
    const nowMs = clock.nowMs();
    const open = await store.openWithin(workspaceId, nowMs, nowMs + 1);
    // What was opened here meanwhile is not in what was read, and has not been closed.
    if (this.#changes !== changes) return this.reload(workspaceId);
    for (const { id, closesAtMs } of this.#windows.openFor(workspaceId)) {
      if (closesAtMs > nowMs && !open.some((window) => window.id === id)) this.windowClosed(id);
    }
    for (const window of open) if (!this.#endedWindows.has(window.id)) this.#windows.set(window);
  }

  begin(surface: Surface, requestId: string, { key, workspace }: CaptureCaller): CaptureRecorder | undefined {
    if (!this.#windows.hasOpen(workspace.id)) return undefined;
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
    const told = { requestId, keyId: key.id, window, atMs, surface };
    return new CaptureRecorder(told, itemMaxBytes, this.#memory, (heard) => this.#enqueue(heard));
  }

  windowOpened(window: CaptureWindow): void {
    this.#changes += 1;
    this.#windows.set(window);
  }

  windowClosed(windowId: string): void {
    this.#windows.remove(windowId);
    this.#endedWindows.add(windowId);
  }

  /** How many calls were in the window and were not kept since the start: it was full, or the store was away. */
  skippedCount(windowId: string): number {
    return this.#skipped.get(windowId) ?? 0;
  }

  /** Resolves when everything that was to be kept at the call has been written, or was let go. */
  flushed(): Promise<void> {
    return this.#written;
  }

  async sweep(): Promise<void> {
    const { store, clock, warn } = this.#deps;
    this.#windows.removeExpired(clock.nowMs());
    try {
      await store.sweep(clock.nowMs());
    } catch (error) {
      warn({ err: error }, "expired captured contents could not be removed yet; they cannot be read any more");
    }
  }

  #enqueue(heard: RecordedExchange): void {
    const bytes = capturedBytes(heard);
    if (this.#queuedBytes + bytes > QUEUED_BYTES_MAX) {
      this.#countSkipped(heard.window.id);
      return;
    }
    this.#queuedBytes += bytes;
    this.#written = this.#written.then(async () => {
      // After this turn, so that the end of the answer has gone out first.
      await new Promise((resolve) => setImmediate(resolve));
      await this.#store(heard);
      this.#queuedBytes -= bytes;
    });
  }

  async #store(heard: RecordedExchange): Promise<void> {
    const { store, limits, mayKeep, warn } = this.#deps;
    const { window, keyId, requestId } = heard;
    if (this.#endedWindows.has(window.id) || !mayKeep(window.workspaceId, keyId)) return;
    // A request that was refused before its wishes were read has them all the same.
    if (heard.request !== null && requestsZeroRetention(heard.request.toString("utf8"))) return;
    try {
      const outcome = await store.add(capturedItem(heard, limits.itemMaxBytes), limits.windowMaxBytes);
      if (outcome === "kept") return;
      if (outcome === "full") this.#fullWindows.add(window.id);
      this.#countSkipped(window.id);
    } catch (error) {
      this.#countSkipped(window.id);
      const err = error instanceof Error ? error.message : "unknown";
      warn({ requestId, window: window.id, err }, "a call in a capture window could not be kept");
    }
  }

  #countSkipped(windowId: string): void {
    this.#skipped.set(windowId, (this.#skipped.get(windowId) ?? 0) + 1);
  }
}

function capturedBytes({ request, response }: RecordedExchange): number {
  return (request?.length ?? 0) + (response?.length ?? 0);
}

function capturedItem(heard: RecordedExchange, maxBytes: number): CapturedRequest {
  const { requestId, keyId, window, atMs } = heard;
  const request =
    heard.request === null ? undefined : truncatePart("request", redactAudio(heard.request.toString("utf8")), maxBytes);
  const silenced = heard.responseFormat === "words" ? redactAudioInText : redactAudio;
  // Without sound first: half of it would be taken for words.
  const answer = heard.response === null ? undefined : truncatePart("answer", silenced(heard.response), maxBytes);
  const counted = heard.cut.map(({ part }) => part);
  return {
    requestId,
    windowId: window.id,
    workspaceId: window.workspaceId,
    keyId,
    capturedAtMs: atMs,
    expiresAtMs: atMs + window.retentionMs,
    request: request?.text ?? null,
    answer: answer?.text ?? null,
    cut: [...heard.cut, ...[request, answer].flatMap((one) => (one?.cut === undefined ? [] : [one.cut]))].filter(
      (one, place) => place < heard.cut.length || !counted.includes(one.part),
    ),
  };
}

/** Within the bytes that are kept of one part. */
function truncatePart(
  part: "request" | "answer",
  text: string,
  maxBytes: number,
): { text: string; cut?: TruncatedPart } {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return { text };
  // A sign that was cut in two is left out.
  return {
    text: new TextDecoder("utf-8").decode(bytes.subarray(0, maxBytes), { stream: true }),
    cut: { part, ofBytes: bytes.length },
  };
}
