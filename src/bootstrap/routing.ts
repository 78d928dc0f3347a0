import type { Connections, Snapshot } from "../domain/catalogue/catalogue.ts";
import type { Proven } from "../domain/catalogue/proofs.ts";
import { Health } from "../domain/routing/health.ts";
import { Learned } from "../domain/routing/learned.ts";
import { Reach } from "../domain/routing/reach.ts";
import { Sessions } from "../domain/routing/session.ts";
import type { Directory } from "../domain/tenancy/directory.ts";
import type { Principal } from "../domain/tenancy/key.ts";
import { isSpoken } from "../io/upstream/lanes.ts";

/** What requests are planned by: who can be reached, what is known of them, and whose rules hold. */
export function routingOf(snapshot: () => Snapshot, connections: Connections, directory: Directory, proofs: Proven) {
  return {
    reach: new Reach(snapshot, connections, isSpoken, proofs),
    health: new Health(),
    learned: new Learned(),
    sessions: new Sessions(),
    policyOf: (workspaceId: string, keyId: string | null) => directory.policyOf(workspaceId, keyId),
    routerOf: (workspaceId: string, slug: string) => directory.router(workspaceId, slug),
    spenderOf: (principal: Principal) => directory.spendScopeOf(principal),
  };
}
