import type { CurrentCatalogue, ProviderConnections } from "../../src/domain/catalogue/catalogue.ts";
import { PROVEN_SURFACES, type ProofLookup, proofSubject } from "../../src/domain/catalogue/proofs.ts";
import type { Store } from "../../src/io/store/sql/store.ts";
import { isJsonObject } from "../../src/kit/json.ts";
import { proofOf } from "./proof-suite.ts";
import type { Script } from "./upstream.ts";

/** For tests of other concerns: every endpoint is proven. */
export const ALL_PROVEN: ProofLookup = {
  isProven: () => true,
  acceptsImages: ({ decisions }) => decisions?.images != null,
  version: 0,
  nextExpiryMs: Number.POSITIVE_INFINITY,
  expire() {},
};

/** For `prepare` of a gateway: an earlier process proved every endpoint just now. */
export async function allProven(
  store: Store,
  { catalogue, connections }: { catalogue: CurrentCatalogue; connections: ProviderConnections },
): Promise<void> {
  const nowMs = Date.now();
  const proofs = [...catalogue.snapshot.endpoints.values()]
    .filter(({ sandbox }) => !sandbox)
    .flatMap((endpoint) =>
      PROVEN_SURFACES.filter((surface) => endpoint.surfaces.includes(surface)).map((surface) =>
        proofOf(`prf_${surface}_${endpoint.id}`, nowMs, {
          endpoint: endpoint.id,
          surface,
          subject: proofSubject(endpoint, surface, connections),
        }),
      ),
    );
  await store.proofs.append(proofs);
}

/** A System One server's reply to the proof's two states, and to everything else. */
export function systemOne(
  yesTo: (state: string) => number,
  usage: unknown = { input_tokens: 40, output_tokens: 18 },
): (received: { readonly json: unknown }) => Script {
  return ({ json }) => {
    const { state, questions } = isJsonObject(json) ? json : {};
    const noul = yesTo(typeof state === "string" ? state : JSON.stringify(state));
    const names = isJsonObject(questions) ? Object.keys(questions) : [];
    const answers = Object.fromEntries(names.map((name) => [name, { type: "noul", noul }]));
    return { json: { model: "jev-1.13.0", answers, usage } };
  };
}

/** Reads the state of the request. */
export const honestly = (state: string) => (state.includes("switched off") ? 0.02 : 0.98);
