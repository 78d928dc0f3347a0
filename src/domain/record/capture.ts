import { sparseLookup } from "../../kit/sparse-lookup.ts";
import type { Environment } from "../tenancy/key.ts";
import type { Surface } from "./record.ts";

/** The parts that may be captured per surface. Audio is never captured. */
export const CAPTURED_PARTS: Readonly<Record<Surface, readonly ("request" | "answer")[]>> = {
  chat: ["request", "answer"],
  messages: ["request", "answer"],
  responses: ["request", "answer"],
  gemini: ["request", "answer"],
  decisions: ["request", "answer"],
  embeddings: ["request"],
  rerank: ["request", "answer"],
  moderations: ["request", "answer"],
  images: ["request"],
  transcriptions: ["request", "answer"],
  speech: ["request"],
};

/** Which calls a window covers; null means all. */
export type CaptureScope = {
  readonly keys: readonly string[] | null;
  readonly surfaces: readonly Surface[] | null;
  readonly environment: Environment | null;
};

/** A period in which requests and responses of a workspace are captured. */
export type CaptureWindow = {
  readonly id: string;
  readonly workspaceId: string;
  readonly openedAtMs: number;
  readonly closesAtMs: number;
  /** Set when it was closed early, by a person or by a policy. */
  readonly closedAtMs: number | null;
  readonly retentionMs: number;
  readonly scope: CaptureScope;
  readonly openedBy: string;
  readonly reason: string | null;
};

export type CaptureWindowRow = CaptureWindow & {
  readonly items: number;
  readonly bytes: number;
  /** Set when its contents were deleted before they expired. */
  readonly purgedAtMs: number | null;
};

export type TruncatedPart = {
  readonly part: "request" | "answer";
  /** The size before truncation. */
  readonly ofBytes: number;
};

/** A captured request and response; null parts may not be captured. */
export type CapturedRequest = {
  readonly requestId: string;
  readonly windowId: string;
  readonly workspaceId: string;
  readonly keyId: string;
  readonly capturedAtMs: number;
  readonly expiresAtMs: number;
  readonly request: string | null;
  readonly answer: string | null;
  readonly cut: readonly TruncatedPart[];
};

/** Capture windows and their contents, encrypted per workspace. Expired contents are never returned. */
export type CaptureStore = {
  list(
    workspaceId: string | null,
    limit: number,
    cursor: string | null,
  ): Promise<{ rows: CaptureWindowRow[]; next: string | null }>;
  find(id: string): Promise<CaptureWindowRow | undefined>;
  /** Windows of all workspaces that are open at a time. */
  openAt(nowMs: number): Promise<CaptureWindowRow[]>;
  /** Windows of a workspace that were open during a period, oldest first. */
  openWithin(workspaceId: string, fromMs: number, toMs: number): Promise<CaptureWindowRow[]>;
  /** Stores an item unless its window exceeds the size limit. */
  add(item: CapturedRequest, windowMaxBytes: number): Promise<"kept" | "full" | "purged">;
  content(workspaceId: string, requestId: string, nowMs: number): Promise<CapturedRequest | undefined>;
  /** Deletes expired contents; returns how many. */
  sweep(nowMs: number): Promise<number>;
};

/** Changes of windows, in one transaction with their audit entry. */
export type CaptureWriter = {
  open(window: CaptureWindow): Promise<void>;
  /** Closes a window early; no effect on one that is over. */
  close(id: string, atMs: number): Promise<void>;
  /** Deletes the contents of a window and accepts no more; returns how many. */
  purge(id: string, atMs: number): Promise<number>;
  /** For all windows of a workspace. */
  closeAndPurgeAll(workspaceId: string, atMs: number): Promise<{ closed: string[]; purged: number }>;
  /** Deletes everything captured of one key, in all windows. */
  purgeKey(workspaceId: string, keyId: string): Promise<number>;
};

export type CapturableCall = {
  readonly workspaceId: string;
  readonly keyId: string;
  readonly environment: Environment;
  readonly surface: Surface;
};

function covers({ scope }: CaptureWindow, call: CapturableCall): boolean {
  if (scope.keys !== null && !scope.keys.includes(call.keyId)) return false;
  if (scope.surfaces !== null && !scope.surfaces.includes(call.surface)) return false;
  return scope.environment === null || scope.environment === call.environment;
}

/** Open windows in memory, so that a request costs one map lookup while none is open. */
export class OpenCaptureWindows {
  readonly #byWorkspace = new Map<string, readonly CaptureWindow[]>();
  /** The open windows of a workspace, regardless of scope; undefined without any, which is nearly always. */
  readonly openFor = sparseLookup(this.#byWorkspace);

  set(window: CaptureWindow): void {
    const windows = this.#byWorkspace.get(window.workspaceId) ?? [];
    this.#byWorkspace.set(window.workspaceId, [...windows.filter(({ id }) => id !== window.id), window]);
  }

  remove(windowId: string): void {
    for (const [workspaceId, windows] of this.#byWorkspace) {
      const left = windows.filter(({ id }) => id !== windowId);
      if (left.length === 0) this.#byWorkspace.delete(workspaceId);
      else this.#byWorkspace.set(workspaceId, left);
    }
  }

  removeExpired(nowMs: number): void {
    for (const window of [...this.#byWorkspace.values()].flat()) if (window.closesAtMs <= nowMs) this.remove(window.id);
  }

  /** Oldest first. */
  covering(call: CapturableCall, nowMs: number): readonly CaptureWindow[] {
    const windows = this.#byWorkspace.get(call.workspaceId) ?? [];
    return windows.filter((window) => nowMs < window.closesAtMs && covers(window, call));
  }
}
