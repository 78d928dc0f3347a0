import { type AddressList, addressList } from "../../kit/cidr.ts";
import { DirectoryReader } from "./directory-reader.ts";
import type { ApiKey } from "./key.ts";
import type { SpendLimits } from "./limits.ts";
import type { Router } from "./router.ts";
import type { TenantData } from "./tenancy-store.ts";
import { TokenRegistry } from "./token.ts";
import type { Member, Workspace } from "./workspace.ts";

/**
 * Tenants in memory, for the request path. A management change is written to SQL and then here before it is answered, so
 * that the next request sees it.
 */
export class Directory extends DirectoryReader {
  readonly tokens = new TokenRegistry();
  readonly #workspaceIdBySlug = new Map<string, string>();
  readonly #membersById = new Map<string, Member>();
  /** Indexes by workspace, so that lookups do not scan all tenants. */
  readonly #memberIdsByWorkspace = new Map<string, Set<string>>();
  readonly #keyIdsByWorkspace = new Map<string, Set<string>>();
  /** Allowlists of workspaces, shared by their keys. */
  readonly #allowlists = new Map<string, AddressList>();

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
    const before = this.workspacesById.get(workspaceId);
    if (before !== undefined && before.slug !== workspace?.slug) this.#workspaceIdBySlug.delete(before.slug);
    for (const id of this.#memberIdsByWorkspace.get(workspaceId) ?? []) this.#membersById.delete(id);
    for (const key of this.keys(workspaceId)) {
      this.keysById.delete(key.id);
      if (!now.keys.some(({ digest }) => digest === key.digest)) this.principalsByDigest.delete(key.digest);
    }
    this.workspacesById.delete(workspaceId);
    this.#allowlists.delete(workspaceId);
    this.#memberIdsByWorkspace.delete(workspaceId);
    this.#keyIdsByWorkspace.delete(workspaceId);
    this.routersByWorkspace.delete(workspaceId);
    // Members come before their keys, so that each key's principal is built once.
    if (workspace !== undefined) this.putWorkspace(workspace);
    for (const member of now.members) this.putMember(member);
    for (const key of now.keys) this.putKey(key);
    for (const router of now.routers) this.putRouter(router);
    this.tokens.replace(workspaceId, now.tokens);
    this.limits.replace(workspaceId, limits);
  }

  workspaces(): Workspace[] {
    return [...this.workspacesById.values()];
  }

  workspace(idOrSlug: string): Workspace | undefined {
    return this.workspacesById.get(this.#workspaceIdBySlug.get(idOrSlug) ?? idOrSlug);
  }

  members(workspaceId: string): Member[] {
    return lookUp(this.#memberIdsByWorkspace.get(workspaceId), this.#membersById);
  }

  /** The member with this address, unless the membership is pending. */
  activeMember(workspaceId: string, email: string): Member | undefined {
    return this.members(workspaceId).find((member) => member.email === email && !member.pending);
  }

  member(memberId: string): Member | undefined {
    return this.#membersById.get(memberId);
  }

  keys(workspaceId: string): ApiKey[] {
    return lookUp(this.#keyIdsByWorkspace.get(workspaceId), this.keysById);
  }

  key(keyId: string): ApiKey | undefined {
    return this.keysById.get(keyId);
  }

  routers(workspaceId: string): Router[] {
    return [...(this.routersByWorkspace.get(workspaceId)?.values() ?? [])];
  }

  putWorkspace(workspace: Workspace): void {
    this.workspacesById.set(workspace.id, workspace);
    this.#workspaceIdBySlug.set(workspace.slug, workspace.id);
    const { ipAllowlist } = workspace.keyPolicy;
    if (ipAllowlist === null) this.#allowlists.delete(workspace.id);
    else this.#allowlists.set(workspace.id, addressList(ipAllowlist));
    for (const key of this.keys(workspace.id)) this.#updatePrincipal(key);
  }

  putMember(member: Member): void {
    this.#membersById.set(member.id, member);
    addToIndex(this.#memberIdsByWorkspace, member.workspaceId, member.id);
    for (const key of this.keys(member.workspaceId)) if (key.memberId === member.id) this.#updatePrincipal(key);
  }

  removeMember(memberId: string): void {
    const member = this.#membersById.get(memberId);
    if (member === undefined) return;
    this.#membersById.delete(memberId);
    this.#memberIdsByWorkspace.get(member.workspaceId)?.delete(memberId);
    for (const key of this.keys(member.workspaceId)) if (key.memberId === memberId) this.#updatePrincipal(key);
  }

  putKey(key: ApiKey): void {
    const before = this.keysById.get(key.id);
    // A reissued key has a new secret.
    if (before !== undefined && before.digest !== key.digest) this.principalsByDigest.delete(before.digest);
    this.keysById.set(key.id, key);
    addToIndex(this.#keyIdsByWorkspace, key.workspaceId, key.id);
    this.#updatePrincipal(key);
  }

  putRouter(router: Router): void {
    const own = this.routersByWorkspace.get(router.workspaceId) ?? new Map<string, Router>();
    own.set(router.slug, router);
    this.routersByWorkspace.set(router.workspaceId, own);
  }

  removeRouter(workspaceId: string, slug: string): void {
    this.routersByWorkspace.get(workspaceId)?.delete(slug);
  }

  #updatePrincipal(key: ApiKey): void {
    const workspace = this.workspacesById.get(key.workspaceId);
    const member = key.memberId === null ? undefined : this.#membersById.get(key.memberId);
    const orphaned = key.memberId !== null && member === undefined;
    // Personal keys exist only while the workspace's key policy enables them (KEY-07); the playground is open to every member.
    const isPersonal = key.kind === "personal" && key.purpose === undefined;
    const disabled = isPersonal && workspace?.keyPolicy.personalKeys === false;
    if (workspace === undefined || orphaned || disabled) {
      this.principalsByDigest.delete(key.digest);
      return;
    }
    const own = key.ipAllowlist === null ? undefined : addressList(key.ipAllowlist);
    const allowlist = inBoth(this.#allowlists.get(workspace.id), own);
    this.principalsByDigest.set(key.digest, { key, workspace, member, allowlist });
  }
}

function inBoth(first: AddressList | undefined, second: AddressList | undefined): AddressList | undefined {
  if (first === undefined || second === undefined) return first ?? second;
  return { has: (address) => first.has(address) && second.has(address) };
}

function addToIndex(sets: Map<string, Set<string>>, workspaceId: string, id: string): void {
  const own = sets.get(workspaceId) ?? new Set<string>();
  sets.set(workspaceId, own.add(id));
}

function lookUp<T>(ids: ReadonlySet<string> | undefined, all: ReadonlyMap<string, T>): T[] {
  return [...(ids ?? [])].flatMap((id) => all.get(id) ?? []);
}
