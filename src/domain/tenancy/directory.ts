import { addressList } from "../../kit/cidr.ts";
import type { ApiKey, Principal } from "./key.ts";
import { type SpendLimit, SpendLimitRegistry, type SpendLimits } from "./limits.ts";
import { type Policy, type PolicyVersion, tightenPolicy } from "./policy.ts";
import type { Router, RouterVersion } from "./router.ts";
import { type ManagementToken, TokenRegistry } from "./token.ts";
import type { Member, Workspace } from "./workspace.ts";

export type TenantData = {
  workspaces: Workspace[];
  members: Member[];
  keys: ApiKey[];
  routers: Router[];
  tokens: ManagementToken[];
};

/** Tenants in SQL; the request path reads the Directory instead. */
export type TenancyStore = {
  /** Routers in their current version. `workspaceId` limits the result to one workspace. */
  loadAll(workspaceId?: string): Promise<TenantData>;
  saveWorkspace(workspace: Workspace): Promise<void>;
  saveMember(member: Member): Promise<void>;
  removeMember(memberId: string): Promise<void>;
  /** One transaction: a rotation changes two keys. */
  saveKeys(keys: readonly ApiKey[]): Promise<void>;
  addToken(token: ManagementToken): Promise<void>;
  removeToken(tokenId: string): Promise<void>;
  /** Adds a version; an existing version number is a conflict. */
  saveRouterVersion(version: RouterVersion): Promise<void>;
  /** Adds the next version of a workspace's or a key's policy, if it differs from the last one. */
  savePolicyVersion(version: Omit<PolicyVersion, "version">): Promise<void>;
  /** All policy versions of a workspace and its keys, oldest first. */
  policyHistory(workspaceId: string): Promise<PolicyVersion[]>;
  /** All versions of all routers of a workspace, oldest first. */
  routerVersions(workspaceId: string): Promise<RouterVersion[]>;
  /** Newest first, including removals. */
  routerHistory(workspaceId: string, slug: string): Promise<RouterVersion[]>;
};

/** `keyId` is the root of the key's rotation chain. */
export type SpendScope = { readonly keyId: string; readonly limits: readonly SpendLimit[] };

/**
 * Tenants in memory, for the request path. A management change is written to SQL and then here before it is answered, so
 * that the next request sees it.
 */
export class Directory {
  readonly limits = new SpendLimitRegistry();
  readonly tokens = new TokenRegistry();
  readonly #workspaces = new Map<string, Workspace>();
  readonly #workspaceIdBySlug = new Map<string, string>();
  readonly #members = new Map<string, Member>();
  readonly #keys = new Map<string, ApiKey>();
  /** Indexes by workspace, so that lookups do not scan all tenants. */
  readonly #memberIdsByWorkspace = new Map<string, Set<string>>();
  readonly #keyIdsByWorkspace = new Map<string, Set<string>>();
  readonly #principals = new Map<string, Principal>();
  readonly #routersByWorkspace = new Map<string, Map<string, Router>>();

  load(all: TenantData): void {
    for (const workspace of all.workspaces) this.putWorkspace(workspace);
    for (const member of all.members) this.putMember(member);
    for (const key of all.keys) this.putKey(key);
    for (const router of all.routers) this.putRouter(router);
    for (const token of all.tokens) this.tokens.put(token);
  }

  /** Replaces one workspace with its current state in SQL. */
  replace(workspaceId: string, now: TenantData, limits: readonly SpendLimits[]): void {
    const [workspace] = now.workspaces;
    const before = this.#workspaces.get(workspaceId);
    if (before !== undefined && before.slug !== workspace?.slug) this.#workspaceIdBySlug.delete(before.slug);
    for (const id of this.#memberIdsByWorkspace.get(workspaceId) ?? []) this.#members.delete(id);
    for (const key of this.keys(workspaceId)) {
      this.#keys.delete(key.id);
      if (!now.keys.some(({ digest }) => digest === key.digest)) this.#principals.delete(key.digest);
    }
    this.#workspaces.delete(workspaceId);
    this.#memberIdsByWorkspace.delete(workspaceId);
    this.#keyIdsByWorkspace.delete(workspaceId);
    this.#routersByWorkspace.delete(workspaceId);
    // Members come before their keys, so that each key's principal is built once.
    if (workspace !== undefined) this.putWorkspace(workspace);
    for (const member of now.members) this.putMember(member);
    for (const key of now.keys) this.putKey(key);
    for (const router of now.routers) this.putRouter(router);
    this.tokens.replace(workspaceId, now.tokens);
    this.limits.replace(workspaceId, limits);
  }

  /** Undefined for a key whose member has left or whose kind is switched off. */
  principalByDigest(digest: string): Principal | undefined {
    return this.#principals.get(digest);
  }

  workspaces(): Workspace[] {
    return [...this.#workspaces.values()];
  }

  workspace(idOrSlug: string): Workspace | undefined {
    return this.#workspaces.get(this.#workspaceIdBySlug.get(idOrSlug) ?? idOrSlug);
  }

  members(workspaceId: string): Member[] {
    return lookUp(this.#memberIdsByWorkspace.get(workspaceId), this.#members);
  }

  /** The member with this address, unless the membership is pending. */
  activeMember(workspaceId: string, email: string): Member | undefined {
    return this.members(workspaceId).find((member) => member.email === email && !member.pending);
  }

  member(memberId: string): Member | undefined {
    return this.#members.get(memberId);
  }

  keys(workspaceId: string): ApiKey[] {
    return lookUp(this.#keyIdsByWorkspace.get(workspaceId), this.#keys);
  }

  key(keyId: string): ApiKey | undefined {
    return this.#keys.get(keyId);
  }

  /** The first key of a rotation chain; spending and limits are counted under it. */
  rotationRootOf(keyId: string): string {
    let id = keyId;
    // Bounded by the number of keys, in case rows reference each other in a cycle.
    for (let step = 0; step < this.#keys.size; step += 1) {
      const before = this.#keys.get(id)?.rotatedFrom ?? null;
      if (before === null) return id;
      id = before;
    }
    return id;
  }

  /** The key under which a caller's spending is counted, and the limits that apply to it. */
  spendScopeOf({ key, workspace, member }: Principal): SpendScope {
    const keyId = key.rotatedFrom === null ? key.id : this.rotationRootOf(key.id);
    return { keyId, limits: this.limits.applicableTo(workspace.id, member?.id ?? null, keyId) };
  }

  /** The combined policy of a workspace and one of its keys; undefined: the workspace was deleted. */
  policyOf(workspaceId: string, keyId: string | null): Policy | undefined {
    const workspace = this.#workspaces.get(workspaceId);
    if (workspace === undefined || keyId === null) return workspace?.policy;
    return tightenPolicy(workspace.policy, this.#keys.get(keyId)?.policy);
  }

  routers(workspaceId: string): Router[] {
    return [...(this.#routersByWorkspace.get(workspaceId)?.values() ?? [])];
  }

  router(workspaceId: string, slug: string): Router | undefined {
    return this.#routersByWorkspace.get(workspaceId)?.get(slug);
  }

  putWorkspace(workspace: Workspace): void {
    this.#workspaces.set(workspace.id, workspace);
    this.#workspaceIdBySlug.set(workspace.slug, workspace.id);
    for (const key of this.keys(workspace.id)) this.#updatePrincipal(key);
  }

  putMember(member: Member): void {
    this.#members.set(member.id, member);
    addToIndex(this.#memberIdsByWorkspace, member.workspaceId, member.id);
    for (const key of this.keys(member.workspaceId)) if (key.memberId === member.id) this.#updatePrincipal(key);
  }

  removeMember(memberId: string): void {
    const member = this.#members.get(memberId);
    if (member === undefined) return;
    this.#members.delete(memberId);
    this.#memberIdsByWorkspace.get(member.workspaceId)?.delete(memberId);
    for (const key of this.keys(member.workspaceId)) if (key.memberId === memberId) this.#updatePrincipal(key);
  }

  putKey(key: ApiKey): void {
    this.#keys.set(key.id, key);
    addToIndex(this.#keyIdsByWorkspace, key.workspaceId, key.id);
    this.#updatePrincipal(key);
  }

  putRouter(router: Router): void {
    const own = this.#routersByWorkspace.get(router.workspaceId) ?? new Map<string, Router>();
    own.set(router.slug, router);
    this.#routersByWorkspace.set(router.workspaceId, own);
  }

  removeRouter(workspaceId: string, slug: string): void {
    this.#routersByWorkspace.get(workspaceId)?.delete(slug);
  }

  #updatePrincipal(key: ApiKey): void {
    const workspace = this.#workspaces.get(key.workspaceId);
    const member = key.memberId === null ? undefined : this.#members.get(key.memberId);
    const orphaned = key.memberId !== null && member === undefined;
    // Personal keys exist only while the workspace's key policy enables them (KEY-07).
    const disabled = key.kind === "personal" && workspace?.keyPolicy.personalKeys === false;
    if (workspace === undefined || orphaned || disabled) {
      this.#principals.delete(key.digest);
      return;
    }
    const allowlist = key.ipAllowlist === null ? undefined : addressList(key.ipAllowlist);
    this.#principals.set(key.digest, { key, workspace, member, allowlist });
  }
}

function addToIndex(sets: Map<string, Set<string>>, workspaceId: string, id: string): void {
  const own = sets.get(workspaceId) ?? new Set<string>();
  sets.set(workspaceId, own.add(id));
}

function lookUp<T>(ids: ReadonlySet<string> | undefined, all: ReadonlyMap<string, T>): T[] {
  return [...(ids ?? [])].flatMap((id) => all.get(id) ?? []);
}
