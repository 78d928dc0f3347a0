export const NODE_TOKEN_PREFIX = "nt_svc_";

/** A workspace's own machine, connected through a tunnel. */
export type WorkspaceNode = {
  /** `node_…`; also the host name in its endpoints' addresses. */
  readonly id: string;
  readonly workspaceId: string;
  /** Unique in its workspace; part of its models' ids. */
  readonly name: string;
  /** Its country as declared by the workspace (ISO 3166-1 alpha-2); null: not declared. */
  readonly country: string | null;
  /** SHA-256 in hex of its connection token. */
  readonly digest: string;
  readonly createdAtMs: number;
  readonly createdBy: string;
  /** Local model id to the catalogue model that it serves. */
  readonly mapping: Readonly<Record<string, string>>;
  readonly lastSeenAtMs: number | null;
};

/** A model as a connected node announces it. */
export type AnnouncedModel = {
  readonly id: string;
  readonly surfaces: readonly ("chat" | "embeddings")[];
  readonly contextTokens: number | null;
  readonly maxOutputTokens: number | null;
  readonly tools: boolean | null;
  readonly jsonSchema: boolean | null;
  readonly imageInput: boolean | null;
  readonly reasoning: boolean | null;
};

export type NodeStore = {
  loadAll(): Promise<WorkspaceNode[]>;
  loadWorkspace(workspaceId: string): Promise<WorkspaceNode[]>;
  save(node: WorkspaceNode): Promise<void>;
  remove(nodeId: string): Promise<void>;
  /** Written without an audit entry, because no actor made the change. */
  recordSeen(nodeIds: readonly string[], atMs: number): Promise<void>;
};
