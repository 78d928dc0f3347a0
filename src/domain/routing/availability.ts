import { type CallabilityContext, checkCallability } from "../catalogue/callability.ts";
import type { CatalogueSnapshot, Endpoint, Model, ProviderConnections } from "../catalogue/catalogue.ts";
import type { Surface } from "../record/record.ts";
import type { Policy } from "../tenancy/policy.ts";
import type { ReachabilitySource } from "./node-reachability.ts";
import { policyVerdictFor } from "./policy-effect.ts";

/**
 * Why a workspace cannot call an endpoint: `not_connected` ends once its provider is connected, `excluded_by_policy` once the
 * policy changes, `not_callable` depends on the catalogue or the operator.
 */
export const UNAVAILABLE_CODES = ["not_connected", "excluded_by_policy", "not_callable"] as const;
export type UnavailableCode = (typeof UNAVAILABLE_CODES)[number];

/** `reason` is a clause without a full stop and without secrets. */
export type Unavailable = { readonly code: UnavailableCode; readonly reason: string };

/** Null: it can be called now. */
export type Availability = Unavailable | null;

/** What decides the availability for one workspace, or one of its keys. */
export type AvailabilityContext = Omit<CallabilityContext, "snapshot"> & {
  readonly snapshot: Pick<CatalogueSnapshot, "models" | "currencies">;
  readonly reachability: Pick<ReachabilitySource, "forModel">;
  /** Surfaces enabled on this gateway. */
  readonly surfaces: readonly Surface[];
  readonly policy: Policy;
};

/** A provider with a credential and an address, to find out what else prevents a call. */
const CONNECTED: ProviderConnections = {
  credential: () => ({ kind: "bearer", token: "" }),
  baseUrl: () => "https://connected.invalid",
  hasRealProvider: true,
};
const PROVEN: CallabilityContext["proofs"] = { isProven: () => true };

/** What a workspace can call now, by endpoint and by model. */
export class WorkspaceAvailability {
  readonly #context: AvailabilityContext;
  readonly #reachableIds = new Map<string, ReadonlySet<string>>();

  constructor(context: AvailabilityContext) {
    this.#context = context;
  }

  ofEndpoint(endpoint: Endpoint): Availability {
    const { snapshot, policy } = this.#context;
    const model = snapshot.models.get(endpoint.model);
    if (model === undefined) return { code: "not_callable", reason: `${endpoint.model} is not in the catalogue` };
    const obstacle = this.#reachable(endpoint.model).has(endpoint.id) ? null : this.#obstacleOf(endpoint);
    if (obstacle?.code === "not_callable") return obstacle;
    // A connection would not help where the policy excludes the endpoint.
    const verdict = policyVerdictFor(model, endpoint, policy);
    return verdict === undefined ? obstacle : { code: "excluded_by_policy", reason: verdict.reason };
  }

  /** A model is available through any of the given endpoints; otherwise the obstacle that is easiest to remove is reported. */
  ofModel({ id }: Pick<Model, "id">, endpoints: readonly Endpoint[]): Availability {
    const found = endpoints.map((endpoint) => this.ofEndpoint(endpoint));
    if (found.includes(null)) return null;
    const obstacles = found.filter((one) => one !== null);
    for (const code of UNAVAILABLE_CODES) {
      const [first] = obstacles.filter((one) => one.code === code);
      if (first !== undefined) return first;
    }
    return { code: "not_callable", reason: `no endpoint serves ${id}` };
  }

  #reachable(modelId: string): ReadonlySet<string> {
    const known = this.#reachableIds.get(modelId);
    if (known !== undefined) return known;
    const { reachability, surfaces, walletCurrency, nowMs } = this.#context;
    const ids = surfaces.flatMap((surface) =>
      reachability.forModel(modelId, surface, walletCurrency, nowMs).endpoints.map(({ endpoint }) => endpoint.id),
    );
    const reachable = new Set(ids);
    this.#reachableIds.set(modelId, reachable);
    return reachable;
  }

  #obstacleOf(endpoint: Endpoint): Unavailable {
    const { surfaces } = this.#context;
    let reason = `${endpoint.id} serves no surface that is enabled on this gateway`;
    for (const surface of surfaces) {
      const now = checkCallability(endpoint, surface, this.#context);
      if (now.is === "callable")
        return { code: "not_callable", reason: `${endpoint.id} speaks a dialect the gateway does not` };
      if (now.why === "surface_not_served") continue;
      if (now.why !== "not_connected") {
        reason = now.reason;
        continue;
      }
      const connected = checkCallability(endpoint, surface, {
        ...this.#context,
        connections: CONNECTED,
        proofs: PROVEN,
      });
      if (connected.is === "callable") return { code: "not_connected", reason: now.reason };
      reason = connected.reason;
    }
    return { code: "not_callable", reason };
  }
}
