import type { Environment } from "../tenancy/key.ts";
import type { Surface } from "./record.ts";

/** What of a call may be kept, by its surface: audio never is, whoever asks. */
export const CAPTURED_PARTS: Readonly<Record<Surface, readonly ("request" | "answer")[]>> = {
  chat: ["request", "answer"],
  messages: ["request", "answer"],
  responses: ["request", "answer"],
  decisions: ["request", "answer"],
  embeddings: ["request"],
  transcriptions: ["request", "answer"],
  speech: ["request"],
};

/** Which calls a window is for; null is every one. */
export type CaptureScope = {
  readonly keys: readonly string[] | null;
  readonly surfaces: readonly Surface[] | null;
  readonly environment: Environment | null;
};

/** A time in which requests and answers of a workspace are kept. */
export type CaptureWindow = {
  readonly id: string;
  readonly workspaceId: string;
  readonly openedAtMs: number;
  readonly closesAtMs: number;
  /** When it was closed by hand or by a policy, before its time; null: it was not. */
  readonly closedAtMs: number | null;
  readonly retentionMs: number;
  readonly scope: CaptureScope;
  readonly openedBy: string;
  readonly reason: string | null;
};

/** A window with what is in it. */
export type CaptureWindowRow = CaptureWindow & {
  readonly items: number;
  readonly bytes: number;
  /** When its contents were removed before their time; null: they were not. */
  readonly purgedAtMs: number | null;
};

export type TruncatedPart = {
  readonly part: "request" | "answer";
  /** How many bytes it had; the rest was cut off. */
  readonly ofBytes: number;
};

/** A request and its answer, as far as they may be kept. */
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

/** The windows of a workspace, and their contents sealed for it. What has expired is not there. */
export type CaptureStore = {
  list(
    workspaceId: string | null,
    limit: number,
    cursor: string | null,
  ): Promise<{ rows: CaptureWindowRow[]; next: string | null }>;
  find(id: string): Promise<CaptureWindowRow | undefined>;
  /** Those of all workspaces that are open at a time. */
  openAt(nowMs: number): Promise<CaptureWindowRow[]>;
  /** Those of one workspace that were open at any time of a period, oldest first. */
  openWithin(workspaceId: string, fromMs: number, toMs: number): Promise<CaptureWindowRow[]>;
  /** Keeps an item within the bytes that its window may hold. */
  add(item: CapturedRequest, windowMaxBytes: number): Promise<"kept" | "full" | "purged">;
  content(workspaceId: string, requestId: string, nowMs: number): Promise<CapturedRequest | undefined>;
  /** Removes what has expired; answers how many. */
  sweep(nowMs: number): Promise<number>;
};

/** The part of it that changes go through, together with their line in the audit log. */
export type CaptureWriter = {
  open(window: CaptureWindow): Promise<void>;
  /** Ends a window before its time; one that is over stays as it is. */
  close(id: string, atMs: number): Promise<void>;
  /** Removes the contents of a window; nothing more is put into it. Answers how many there were. */
  purge(id: string, atMs: number): Promise<number>;
  /** Ends all windows of a workspace and removes their contents. */
  closeAndPurgeAll(workspaceId: string, atMs: number): Promise<{ closed: string[]; purged: number }>;
  /** Removes what was captured of one key, whatever the window. */
  purgeKey(workspaceId: string, keyId: string): Promise<number>;
};

/** A call that may be in the scope of a window. */
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

/** Windows that are open now, in memory: all that a request pays while there is none is one look-up. */
export class OpenCaptureWindows {
  readonly #byWorkspace = new Map<string, CaptureWindow[]>();

  set(window: CaptureWindow): void {
    const own = this.#byWorkspace.get(window.workspaceId) ?? [];
    this.#byWorkspace.set(window.workspaceId, [...own.filter(({ id }) => id !== window.id), window]);
  }

  remove(windowId: string): void {
    for (const [workspaceId, own] of this.#byWorkspace) {
      const left = own.filter(({ id }) => id !== windowId);
      if (left.length === 0) this.#byWorkspace.delete(workspaceId);
      else this.#byWorkspace.set(workspaceId, left);
    }
  }

  /** Those whose time is over leave, so that requests do not look at them any more. */
  removeExpired(nowMs: number): void {
    for (const window of [...this.#byWorkspace.values()].flat()) if (window.closesAtMs <= nowMs) this.remove(window.id);
  }

  /** Those of a workspace that are known to be open. */
  openFor(workspaceId: string): readonly CaptureWindow[] {
    return this.#byWorkspace.get(workspaceId) ?? [];
  }

  /** Whether any window is open for a workspace, whatever its scope. */
  hasOpen(workspaceId: string): boolean {
    return this.#byWorkspace.has(workspaceId);
  }

  /** The windows for a call, oldest first. */
  covering(call: CapturableCall, nowMs: number): readonly CaptureWindow[] {
    const own = this.#byWorkspace.get(call.workspaceId) ?? [];
    return own.filter((window) => nowMs < window.closesAtMs && covers(window, call));
  }
}
