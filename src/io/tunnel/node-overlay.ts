import type { CatalogueSnapshot, Credential, ProviderConnections } from "../../domain/catalogue/catalogue.ts";
import { buildNodeCatalogue, isNodeProvider, nodeProviderSlug } from "../../domain/catalogue/node-catalogue.ts";
import { type OverlaidCatalogue, overlayNodes } from "../../domain/catalogue/overlay.ts";
import type { ProofLookup } from "../../domain/catalogue/proofs.ts";
import type { NodeRef } from "../../domain/routing/attempt.ts";
import { NodeReachability, type ReachabilitySource } from "../../domain/routing/node-reachability.ts";
import { Reachability } from "../../domain/routing/reachability.ts";
import type { AnnouncedModel } from "../../domain/tenancy/node.ts";
import type { NodeEntry } from "./node-entry.ts";

/**
 * What the nodes of one workspace add to what it can call. Replaced as a whole when one of them comes, goes or changes;
 * a workspace without a connected node has none, and pays nothing for those that have.
 */
export type NodeOverlay = {
  /** The catalogue, with their rows. */
  readonly snapshot: CatalogueSnapshot;
  /** Of nodes alone. */
  readonly connections: ProviderConnections;
  reachabilityOver(base: ReachabilitySource): ReachabilitySource;
  /** The node behind an endpoint; undefined when it is nobody's here. */
  entryFor(endpointId: string): NodeEntry | undefined;
};

const NO_CREDENTIAL: Credential = { kind: "none" };
/** Surfaces that have to be proven are none that nodes serve. */
const NOTHING_PROVEN: ProofLookup = { version: () => 0, isProven: () => false, acceptsImages: () => false };

export class WorkspaceNodeOverlay implements NodeOverlay {
  readonly connections: ProviderConnections;
  readonly #base: () => CatalogueSnapshot;
  readonly #serving: readonly NodeEntry[];
  readonly #servedBy: (held: NodeEntry) => readonly AnnouncedModel[];
  readonly #byProvider: ReadonlyMap<string, NodeEntry>;
  readonly #reach: Reachability;
  #seen: { readonly base: CatalogueSnapshot; readonly overlaid: OverlaidCatalogue } | undefined;
  #joined: { readonly base: ReachabilitySource; readonly reach: ReachabilitySource } | undefined;

  constructor(
    serving: readonly NodeEntry[],
    base: () => CatalogueSnapshot,
    servedBy: (held: NodeEntry) => readonly AnnouncedModel[] = ({ servedModels }) => servedModels,
  ) {
    this.#base = base;
    this.#serving = serving;
    this.#servedBy = servedBy;
    this.#byProvider = new Map(serving.map((held) => [nodeProviderSlug(held.node), held]));
    this.connections = {
      credential: (provider) => (this.#byProvider.has(provider) ? NO_CREDENTIAL : undefined),
      baseUrl: ({ provider, baseUrl }) => (this.#byProvider.has(provider) ? (baseUrl ?? undefined) : undefined),
      hasRealProvider: true,
    };
    this.#reach = new Reachability(
      () => this.#rows.nodesOnly,
      this.connections,
      () => true,
      NOTHING_PROVEN,
    );
  }

  get snapshot(): CatalogueSnapshot {
    return this.#rows.combined;
  }

  reachabilityOver(base: ReachabilitySource): ReachabilitySource {
    if (this.#joined?.base === base) return this.#joined.reach;
    const reach = new NodeReachability(base, this.#reach, (provider) => refOf(this.#byProvider.get(provider)));
    this.#joined = { base, reach };
    return reach;
  }

  entryFor(endpointId: string): NodeEntry | undefined {
    const endpoint = isNodeProvider(endpointId) ? this.#rows.nodesOnly.endpoints.get(endpointId) : undefined;
    return endpoint === undefined ? undefined : this.#byProvider.get(endpoint.provider);
  }

  /** Rates change now and then, and with them the snapshot below. */
  get #rows(): OverlaidCatalogue {
    const base = this.#base();
    if (this.#seen?.base === base) return this.#seen.overlaid;
    const rows = this.#serving.map((held) =>
      buildNodeCatalogue(held.node, this.#servedBy(held), (id) => base.models.get(id)),
    );
    this.#seen = { base, overlaid: overlayNodes(base, rows) };
    return this.#seen.overlaid;
  }
}

function refOf(held: NodeEntry | undefined): NodeRef | undefined {
  if (held === undefined) return undefined;
  const { id, workspaceId, name } = held.node;
  return { id, workspaceId, name, isRemote: held.live !== undefined && held.live.instance !== null };
}
