import { type ApiKey, type Principal, rotationRoot } from "./key.ts";
import { type SpendLimit, SpendLimitRegistry } from "./limits.ts";
import { type Policy, policyOfKey } from "./policy.ts";
import type { Router } from "./router.ts";
import type { Workspace } from "./workspace.ts";

/** `keyId` is the root of the key's rotation chain. */
export type SpendScope = { readonly keyId: string; readonly limits: readonly SpendLimit[] };

/** Tenants in memory, as the request path reads them. Management changes them through the Directory. */
export class DirectoryReader {
  readonly limits = new SpendLimitRegistry();
  protected readonly workspacesById = new Map<string, Workspace>();
  protected readonly keysById = new Map<string, ApiKey>();
  protected readonly principalsByDigest = new Map<string, Principal>();
  protected readonly routersByWorkspace = new Map<string, Map<string, Router>>();

  /** Undefined for a key whose member has left or whose kind is switched off. */
  principalByDigest(digest: string): Principal | undefined {
    return this.principalsByDigest.get(digest);
  }

  /** The first key of a rotation chain; spending and limits are counted under it. */
  rotationRootOf(keyId: string): string {
    return rotationRoot(keyId, this.keysById);
  }

  /** The key under which a caller's spending is counted, and the limits that apply to it. */
  spendScopeOf({ key, workspace, member }: Principal): SpendScope {
    const keyId = key.rotatedFrom === null ? key.id : this.rotationRootOf(key.id);
    return { keyId, limits: limitsOf(workspace.id, member?.id ?? null, keyId, this.limits.bySpender) };
  }

  /** The combined policy of a workspace and one of its keys; undefined: the workspace was deleted. */
  policyOf(workspaceId: string, keyId: string | null): Policy | undefined {
    const workspace = this.workspacesById.get(workspaceId);
    if (workspace === undefined || keyId === null) return workspace?.policy;
    const key = this.keysById.get(keyId);
    const isUnchanged = key === undefined || (key.policy === null && !workspace.policy.testKeysSimulated);
    return isUnchanged ? workspace.policy : policyOfKey(workspace.policy, key);
  }

  router(workspaceId: string, slug: string): Router | undefined {
    return this.routersByWorkspace.get(workspaceId)?.get(slug);
  }
}

const NO_LIMITS: readonly SpendLimit[] = [];

/**
 * All limits of a request. Monthly limits come first, because the first exceeded limit is reported: waiting for the next day
 * does not help while a monthly limit is exceeded.
 */
function limitsOf(
  workspaceId: string,
  memberId: string | null,
  keyId: string,
  bySpender: SpendLimitRegistry["bySpender"],
): readonly SpendLimit[] {
  if (bySpender.size === 0) return NO_LIMITS;
  const workspace = bySpender.get(workspaceId);
  const member = memberId === null ? undefined : bySpender.get(memberId);
  const key = bySpender.get(keyId);
  if (workspace === undefined && member === undefined && key === undefined) return NO_LIMITS;
  const months: SpendLimit[] = [];
  const days: SpendLimit[] = [];
  for (const limits of [workspace, member, key]) {
    if (limits === undefined) continue;
    const { of, dayNanos, monthNanos } = limits;
    if (monthNanos !== null) months.push({ of, per: "month", nanos: monthNanos });
    if (dayNanos !== null) days.push({ of, per: "day", nanos: dayNanos });
  }
  return [...months, ...days];
}

export type KeyValidity = "valid" | "invalid" | "expired";

/** Revoked and pending keys are invalid, with the error code of an unknown key. */
export function keyValidityOf(key: ApiKey, nowMs: number): KeyValidity {
  if (key.state === "revoked" || key.state === "pending") return "invalid";
  if (key.expiresAtMs !== null && nowMs >= key.expiresAtMs) return "expired";
  if (key.state === "deprecated" && key.graceUntilMs !== null && nowMs >= key.graceUntilMs) return "expired";
  return "valid";
}
