import { LruMap } from "../../kit/lru-map.ts";

/** What a conversation left behind: where it was served last, and how much of it that endpoint has seen. */
export type SessionPlacement = { readonly endpoint: string; readonly seenTokens: number };

type StoredPlacement = SessionPlacement & { readonly atMs: number };

const SESSIONS_MAX = 50_000;
const AFFINITY_TTL_MS = 3_600_000;
/** Providers keep a prompt in their cache for a few minutes after it was last used. */
const PROMPT_CACHE_TTL_MS = 5 * 60_000;

/** Conversations by the name their caller gave them, apart for every workspace. */
export class SessionAffinity {
  readonly #placements = new LruMap<string, StoredPlacement>(SESSIONS_MAX);

  find(workspaceId: string, sessionId: string, nowMs: number): SessionPlacement | undefined {
    const kept = this.#placements.get(keyOf(workspaceId, sessionId));
    if (kept === undefined || nowMs - kept.atMs > AFFINITY_TTL_MS) return undefined;
    return { endpoint: kept.endpoint, seenTokens: nowMs - kept.atMs > PROMPT_CACHE_TTL_MS ? 0 : kept.seenTokens };
  }

  record(workspaceId: string, sessionId: string, trace: SessionPlacement, nowMs: number): void {
    this.#placements.set(keyOf(workspaceId, sessionId), { ...trace, atMs: nowMs });
  }
}

/** Workspace ids have no space in them, so no two pairs give one key. */
function keyOf(workspaceId: string, sessionId: string): string {
  return `${workspaceId} ${sessionId}`;
}
