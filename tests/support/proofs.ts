import type { Connections, Snapshot } from "../../src/domain/catalogue/catalogue.ts";
import { PROVEN_SURFACES, type Proven, subjectOf } from "../../src/domain/catalogue/proofs.ts";
import type { Store } from "../../src/io/store/sql/store.ts";
import { proofOf } from "./proof-suite.ts";

/** For tests of everything else: whatever is asked is proven. */
export const ALL_PROVEN: Proven = { isProven: () => true, version: () => 0 };

/** For `prepare` of a gateway: an earlier process proved every endpoint of the connected providers, just now. */
export async function allProven(
  store: Store,
  { snapshot, connections }: { snapshot(): Snapshot; connections: Connections },
): Promise<void> {
  const nowMs = Date.now();
  const proofs = [...snapshot().endpoints.values()]
    .filter(({ provider, sandbox }) => !sandbox && connections.credential(provider) !== undefined)
    .flatMap((endpoint) =>
      PROVEN_SURFACES.filter((surface) => endpoint.surfaces.includes(surface)).map((surface) =>
        proofOf(`prf_${surface}_${endpoint.id}`, nowMs, {
          endpoint: endpoint.id,
          surface,
          subject: subjectOf(endpoint, surface, connections),
        }),
      ),
    );
  await store.proofs.append(proofs);
}
