export const NODE_TOKEN_PREFIX = "nt_svc_";

/** A machine of a workspace's own that serves it through a tunnel. */
export type WorkspaceNode = {
  /** `node_…`: also the name of the host in its endpoints' addresses. */
  readonly id: string;
  readonly workspaceId: string;
  /** Unique in its workspace; a part of the ids of its models. */
  readonly name: string;
  /** Where it stands, as its workspace declares it (ISO 3166-1 alpha-2); null until it does. */
  readonly country: string | null;
  /** SHA-256 in hex of the token it connects with. */
  readonly digest: string;
  readonly createdAtMs: number;
  readonly createdBy: string;
  /** Which of its models stand behind a model of the catalogue: local id to catalogue id. */
  readonly mapping: Readonly<Record<string, string>>;
  readonly lastSeenAtMs: number | null;
};

/** What a connected node says of one of its models. */
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
  /** Beside everything else, without a line in the audit log: it says nothing of what anyone did. */
  recordSeen(nodeIds: readonly string[], atMs: number): Promise<void>;
};
