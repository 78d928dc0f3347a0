import { LruMap } from "../../kit/lru-map.ts";

/** The endpoint that served a conversation last, and how many of its tokens that endpoint has seen. */
export type SessionPlacement = { readonly endpoint: string; readonly seenTokens: number };

type StoredPlacement = SessionPlacement & { readonly atMs: number };

const SESSIONS_MAX = 50_000;
const AFFINITY_TTL_MS = 3_600_000;
/** Providers cache a prompt for a few minutes after its last use. */
const PROMPT_CACHE_TTL_MS = 5 * 60_000;

/** By workspace and the session id that the caller chose. */
export class SessionAffinity {
  readonly #placements = new LruMap<string, StoredPlacement>(SESSIONS_MAX);

  find(workspaceId: string, sessionId: string, nowMs: number): SessionPlacement | undefined {
    const stored = this.#placements.get(keyOf(workspaceId, sessionId));
    if (stored === undefined || nowMs - stored.atMs > AFFINITY_TTL_MS) return undefined;
    return { endpoint: stored.endpoint, seenTokens: nowMs - stored.atMs > PROMPT_CACHE_TTL_MS ? 0 : stored.seenTokens };
  }

  record(workspaceId: string, sessionId: string, placement: SessionPlacement, nowMs: number): void {
    this.#placements.set(keyOf(workspaceId, sessionId), { ...placement, atMs: nowMs });
  }
}

/** Unique, because workspace ids contain no space. */
function keyOf(workspaceId: string, sessionId: string): string {
  return `${workspaceId} ${sessionId}`;
}
