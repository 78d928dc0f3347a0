import { LruMap } from "../../kit/lru-map.ts";

/** What a conversation left behind: where it was served last, and how much of it that endpoint has seen. */
export type SessionTrace = { readonly endpoint: string; readonly seenTokens: number };

type Kept = SessionTrace & { readonly atMs: number };

const SESSIONS_MAX = 50_000;
const KEPT_MS = 3_600_000;
/** Providers keep a prompt in their cache for a few minutes after it was last used. */
const CACHED_MS = 5 * 60_000;

/** Conversations by the name their caller gave them, apart for every workspace. */
export class Sessions {
  readonly #kept = new LruMap<string, Kept>(SESSIONS_MAX);

  of(workspaceId: string, sessionId: string, nowMs: number): SessionTrace | undefined {
    const kept = this.#kept.get(keyOf(workspaceId, sessionId));
    if (kept === undefined || nowMs - kept.atMs > KEPT_MS) return undefined;
    return { endpoint: kept.endpoint, seenTokens: nowMs - kept.atMs > CACHED_MS ? 0 : kept.seenTokens };
  }

  served(workspaceId: string, sessionId: string, trace: SessionTrace, nowMs: number): void {
    this.#kept.set(keyOf(workspaceId, sessionId), { ...trace, atMs: nowMs });
  }
}

/** Workspace ids have no space in them, so no two pairs give one key. */
function keyOf(workspaceId: string, sessionId: string): string {
  return `${workspaceId} ${sessionId}`;
}
