import type { CatalogueSnapshot, Credential, ProviderConnections } from "../../domain/catalogue/catalogue.ts";
import { buildNodeCatalogue, nodeProviderSlug } from "../../domain/catalogue/node-catalogue.ts";
import { type OverlaidCatalogue, overlayNodes } from "../../domain/catalogue/overlay.ts";
import type { ProofLookup } from "../../domain/catalogue/proofs.ts";
import { isNodeProvider } from "../../domain/record/request-shape.ts";
import { NodeReachability, type ReachabilitySource } from "../../domain/routing/node-reachability.ts";
import { Reachability } from "../../domain/routing/reachability.ts";
import type { NodeRef } from "../../domain/routing/reachable-endpoint.ts";
import type { AnnouncedModel } from "../../domain/tenancy/node.ts";
import type { NodeEntry } from "./node-entry.ts";

/**
 * What the nodes of one workspace add to its catalogue. Replaced as a whole when a node connects, disconnects or changes;
 * a workspace without a connected node has no overlay and no cost.
 */
export type NodeOverlay = {
  /** The catalogue snapshot with the rows of the nodes. */
  readonly snapshot: CatalogueSnapshot;
  /** Of the nodes only. */
  readonly connections: ProviderConnections;
  reachabilityOver(base: ReachabilitySource): ReachabilitySource;
  /** The node behind an endpoint; undefined for any other endpoint. */
  entryFor(endpointId: string): NodeEntry | undefined;
};

const NO_CREDENTIAL: Credential = { kind: "none" };
/** Nodes serve no surface that needs a proof. */
const NOTHING_PROVEN: ProofLookup = {
  version: 0,
  nextExpiryMs: Number.POSITIVE_INFINITY,
  expire() {},
  isProven: () => false,
  acceptsImages: () => false,
};

export class WorkspaceNodeOverlay implements NodeOverlay {
  readonly connections: ProviderConnections;
  readonly #baseSnapshot: () => CatalogueSnapshot;
  readonly #entries: readonly NodeEntry[];
  readonly #modelsOf: (entry: NodeEntry) => readonly AnnouncedModel[];
  readonly #byProvider: ReadonlyMap<string, NodeEntry>;
  readonly #nodeReachability: Reachability;
  #cachedRows: { readonly base: CatalogueSnapshot; readonly overlaid: OverlaidCatalogue } | undefined;
  #cachedReachability: { readonly base: ReachabilitySource; readonly reachability: ReachabilitySource } | undefined;

  constructor(
    serving: readonly NodeEntry[],
    base: () => CatalogueSnapshot,
    modelsOf: (entry: NodeEntry) => readonly AnnouncedModel[] = ({ servedModels }) => servedModels,
  ) {
    this.#baseSnapshot = base;
    this.#entries = serving;
    this.#modelsOf = modelsOf;
    this.#byProvider = new Map(serving.map((entry) => [nodeProviderSlug(entry.node), entry]));
    this.connections = {
      credential: (provider) => (this.#byProvider.has(provider) ? NO_CREDENTIAL : undefined),
      baseUrl: ({ provider, baseUrl }) => (this.#byProvider.has(provider) ? (baseUrl ?? undefined) : undefined),
      hasRealProvider: true,
    };
    const nodesOnly = () => this.#rows.nodesOnly;
    this.#nodeReachability = new Reachability(
      {
        get snapshot() {
          return nodesOnly();
        },
      },
      this.connections,
      () => true,
      NOTHING_PROVEN,
    );
  }

  get snapshot(): CatalogueSnapshot {
    return this.#rows.combined;
  }

  reachabilityOver(base: ReachabilitySource): ReachabilitySource {
    if (this.#cachedReachability?.base === base) return this.#cachedReachability.reachability;
    const reachability = new NodeReachability(base, this.#nodeReachability, (provider) =>
      nodeRefOf(this.#byProvider.get(provider)),
    );
    this.#cachedReachability = { base, reachability };
    return reachability;
  }

  entryFor(endpointId: string): NodeEntry | undefined {
    const endpoint = isNodeProvider(endpointId) ? this.#rows.nodesOnly.endpoints.get(endpointId) : undefined;
    return endpoint === undefined ? undefined : this.#byProvider.get(endpoint.provider);
  }

  /** Rebuilt when the base snapshot changes, for instance with new exchange rates. */
  get #rows(): OverlaidCatalogue {
    const base = this.#baseSnapshot();
    if (this.#cachedRows?.base === base) return this.#cachedRows.overlaid;
    const rows = this.#entries.map((entry) =>
      buildNodeCatalogue(entry.node, this.#modelsOf(entry), (id) => base.models.get(id)),
    );
    this.#cachedRows = { base, overlaid: overlayNodes(base, rows) };
    return this.#cachedRows.overlaid;
  }
}

function nodeRefOf(entry: NodeEntry | undefined): NodeRef | undefined {
  if (entry === undefined) return undefined;
  const { id, workspaceId, name } = entry.node;
  return { id, workspaceId, name, isRemote: entry.live !== undefined && entry.live.instance !== null };
}
