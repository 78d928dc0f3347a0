import type { ApiKey } from "./key.ts";
import type { PolicyVersion } from "./policy.ts";
import type { Router, RouterVersion } from "./router.ts";
import type { ManagementToken } from "./token.ts";
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
