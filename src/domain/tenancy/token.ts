export const TOKEN_PREFIX = "mt_svc_";

/** Gives a program access to a workspace's management API, as an admin or read-only. */
export type ManagementToken = {
  readonly id: string;
  readonly workspaceId: string;
  readonly name: string;
  readonly access: "read" | "write";
  /** SHA-256 in hex; the token itself is not stored. */
  readonly digest: string;
  readonly createdAtMs: number;
  readonly createdBy: string;
  readonly expiresAtMs: number | null;
};

/** All management tokens in memory, for authentication. */
export class TokenRegistry {
  readonly #byDigest = new Map<string, ManagementToken>();
  readonly #byId = new Map<string, ManagementToken>();

  put(token: ManagementToken): void {
    this.#byId.set(token.id, token);
    this.#byDigest.set(token.digest, token);
  }

  remove(id: string): void {
    const token = this.#byId.get(id);
    if (token === undefined) return;
    this.#byId.delete(id);
    this.#byDigest.delete(token.digest);
  }

  replace(workspaceId: string, all: readonly ManagementToken[]): void {
    for (const { id } of this.inWorkspace(workspaceId)) this.remove(id);
    for (const token of all) this.put(token);
  }

  inWorkspace(workspaceId: string): ManagementToken[] {
    return [...this.#byId.values()].filter((token) => token.workspaceId === workspaceId);
  }

  /** Across all workspaces. */
  createdBy(actor: string): ManagementToken[] {
    return [...this.#byId.values()].filter(({ createdBy }) => createdBy === actor);
  }

  find(id: string): ManagementToken | undefined {
    return this.#byId.get(id);
  }

  /** Undefined if unknown or expired. */
  findValid(digest: string, nowMs: number): ManagementToken | undefined {
    const token = this.#byDigest.get(digest);
    return token === undefined || (token.expiresAtMs !== null && nowMs >= token.expiresAtMs) ? undefined : token;
  }
}
