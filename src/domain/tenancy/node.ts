import type { Level } from "./policy.ts";

export const NODE_TOKEN_PREFIX = "nt_svc_";

/** Levels that only an attestation gives: the country alone decides the ones below. */
export const ATTESTED_LEVELS = ["L2", "L3", "L4"] as const satisfies readonly Level[];
export type AttestedLevel = (typeof ATTESTED_LEVELS)[number];

/** Older attestations of a node are in the audit log only. */
export const ATTESTATIONS_KEPT_MAX = 50;

/** An admin's statement that a node meets a level. */
export type LevelAttestation = {
  readonly level: AttestedLevel;
  /** The person who vouches for it. */
  readonly name: string;
  readonly reason: string;
  readonly atMs: number;
  /** The account that recorded it. */
  readonly recordedBy: string;
  /** Null: in force. */
  readonly endedAtMs: number | null;
};

export const NODE_SURFACES = ["chat", "embeddings", "rerank", "images"] as const;
export type NodeSurface = (typeof NODE_SURFACES)[number];

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
  /** Surfaces of local models that replace the announced ones. */
  readonly surfaces: Readonly<Record<string, readonly NodeSurface[]>>;
  /** Oldest first; at most the last one is in force. */
  readonly attestations: readonly LevelAttestation[];
  readonly lastSeenAtMs: number | null;
};

/** A model as a connected node announces it. */
export type AnnouncedModel = {
  readonly id: string;
  readonly surfaces: readonly NodeSurface[];
  readonly contextTokens: number | null;
  readonly maxOutputTokens: number | null;
  readonly tools: boolean | null;
  readonly jsonSchema: boolean | null;
  readonly imageInput: boolean | null;
  readonly reasoning: boolean | null;
};

/** The attestation in force. */
export function attestationOf({ attestations }: Pick<WorkspaceNode, "attestations">): LevelAttestation | undefined {
  const last = attestations.at(-1);
  return last?.endedAtMs === null ? last : undefined;
}

/** Ends the attestation in force, if there is one. */
export function endAttestation(attestations: readonly LevelAttestation[], atMs: number): readonly LevelAttestation[] {
  return attestations.map((one) => (one.endedAtMs === null ? { ...one, endedAtMs: atMs } : one));
}

export type NodeStore = {
  loadAll(): Promise<WorkspaceNode[]>;
  loadWorkspace(workspaceId: string): Promise<WorkspaceNode[]>;
  save(node: WorkspaceNode): Promise<void>;
  remove(nodeId: string): Promise<void>;
  /** Written without an audit entry, because no actor made the change. */
  recordSeen(nodeIds: readonly string[], atMs: number): Promise<void>;
};
