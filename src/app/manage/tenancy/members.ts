import { fault } from "../../../contract/faults.ts";
import { KeyPolicyPatch, MemberAdd, MemberPatch } from "../../../contract/schemas/manage-tenancy.ts";
import { PageQuery } from "../../../contract/schemas/manage-values.ts";
import { isAtLeast } from "../../../domain/tenancy/actor.ts";
import type { ApiKey } from "../../../domain/tenancy/key.ts";
import { noSpendLimits } from "../../../domain/tenancy/limits.ts";
import type { LinkKind } from "../../../domain/tenancy/person.ts";
import type { ManagementToken } from "../../../domain/tenancy/token.ts";
import type { KeyPolicy, Member, Role, Workspace } from "../../../domain/tenancy/workspace.ts";
import { buffered, type Handler } from "../../exchange.ts";
import { printable } from "../../printable.ts";
import { readBody, readQuery } from "../../request-input.ts";
import { mutation } from "../caller-scope.ts";
import {
  type ChangeDeps,
  commitWithAudit,
  findWorkspace,
  type ManageContext,
  type ManageScope,
  type TenancyDeps,
  type TenancyScope,
} from "../deps.ts";
import { requireFreshSignInForRole } from "../fresh-sign-in.ts";
import { ownMemberId, requireRoleAtLeast } from "../membership.ts";
import { paginate } from "../page.ts";
import { keyPolicyView, memberListedView, memberView } from "../views.ts";
import { parseAllowlist } from "./key-settings.ts";

/** Addresses are compared case-insensitively. */
export function memberByEmail(deps: Pick<TenancyDeps, "directory">, workspace: Workspace, email: string) {
  const wanted = email.trim().toLowerCase();
  return deps.directory.members(workspace.id).find((member) => member.email === wanted);
}

/** Does not store it. */
export function newMember({ ids, clock }: TenancyDeps, { id }: Workspace, email: string, role: Role): Member {
  return {
    id: ids.next("mem_"),
    workspaceId: id,
    email: email.trim().toLowerCase(),
    role,
    createdAtMs: clock.nowMs(),
    pending: false,
  };
}

/** Adds a membership, or activates a pending one under its id. */
async function addMember(scope: ManageScope, workspace: Workspace, added: Member): Promise<Member> {
  const { email, role, pending } = added;
  const existing = memberByEmail(scope, workspace, email);
  if (existing !== undefined && (pending || !existing.pending))
    throw fault("conflict", {
      message: `${printable(email)} is already a member of ${workspace.slug}.`,
      param: "email",
    });
  if (!pending) await requireVerifiedEmail(scope, email);
  const member: Member = existing === undefined ? added : { ...existing, role, pending };
  await commitWithAudit(scope, async ({ tenancy }) => {
    await tenancy.saveMember(member);
    const detail = { email, role };
    return { answer: null, audit: { action: "member.add", workspaceId: workspace.id, target: member.id, detail } };
  });
  scope.directory.putMember(member);
  return member;
}

/** Management tokens that a member created: with one, a removed or demoted member could regain access. */
const tokensOf = ({ directory }: Pick<TenancyDeps, "directory">, { workspaceId, email }: Member): ManagementToken[] =>
  directory.tokens.createdBy(email).filter((token) => token.workspaceId === workspaceId);

/** Ends a membership with its personal keys, open links and created management tokens; returns their ids. */
export async function removeMember(deps: ChangeDeps & Pick<TenancyDeps, "directory">, member: Member) {
  const revoked = deps.directory
    .keys(member.workspaceId)
    .filter((key) => key.memberId === member.id && key.state !== "revoked")
    .map((key): ApiKey => ({ ...key, state: "revoked", version: key.version + 1 }));
  const tokens = tokensOf(deps, member);
  const ended = { revoked_keys: revoked.map(({ id }) => id), removed_tokens: tokens.map(({ id }) => id) };
  const noLimits = noSpendLimits(member.workspaceId, "member", member.id);
  const revoked_links = await commitWithAudit(deps, async ({ tenancy, limits, people }) => {
    await limits.save(noLimits);
    if (revoked.length > 0) await tenancy.saveKeys(revoked);
    for (const { id } of tokens) await tenancy.removeToken(id);
    await tenancy.removeMember(member.id);
    const revoke = (kind: LinkKind) => people.revokeLinks(kind, member.email, member.workspaceId, deps.clock.nowMs());
    const links = [...(await revoke("invitation")), ...(await revoke("reset"))];
    const detail = { email: member.email, ...ended, revoked_links: links };
    const audit = { action: "member.remove", workspaceId: member.workspaceId, target: member.id, detail };
    return { answer: links, audit };
  });
  for (const key of revoked) deps.directory.putKey(key);
  for (const { id } of tokens) deps.directory.tokens.remove(id);
  deps.directory.limits.put(noLimits);
  deps.directory.removeMember(member.id);
  return { ...ended, revoked_links };
}

async function changeKeyPolicy(deps: TenancyScope, workspace: Workspace, input: Partial<KeyPolicy>) {
  const changed: Workspace = { ...workspace, keyPolicy: { ...workspace.keyPolicy, ...input } };
  await commitWithAudit(deps, async ({ tenancy }) => {
    await tenancy.saveWorkspace(changed);
    const detail = { before: keyPolicyView(workspace.keyPolicy), after: keyPolicyView(changed.keyPolicy) };
    const audit = { action: "key_policy.change", workspaceId: workspace.id, target: workspace.id, detail };
    return { answer: null, audit };
  });
  deps.directory.putWorkspace(changed);
  return changed;
}

const otherMembers = ({ directory }: Pick<TenancyDeps, "directory">, member: Member): Member[] =>
  directory.members(member.workspaceId).filter(({ id }) => id !== member.id);

/** A workspace with members always has an owner. */
function requireAnotherOwner(deps: Pick<TenancyDeps, "directory">, member: Member): void {
  const owns = ({ role, pending }: Member) => role === "owner" && !pending;
  if (!owns(member) || otherMembers(deps, member).some(owns)) return;
  const { slug } = findWorkspace(deps, member.workspaceId);
  throw fault("conflict", {
    message: `${member.email} is the only owner of ${slug}. Make another member an owner first.`,
  });
}

/** The last member may leave. */
export function requireRemovable(deps: Pick<TenancyDeps, "directory">, member: Member): void {
  if (otherMembers(deps, member).length > 0) requireAnotherOwner(deps, member);
}

/** A demotion removes the member's management tokens and, if pending, the open invitations, which grant the old role. */
async function changeRole(deps: TenancyScope, member: Member, role: Role) {
  if (member.role === role) return { changed: member, removed_tokens: [] };
  if (role !== "owner") requireAnotherOwner(deps, member);
  const changed: Member = { ...member, role };
  const falls = !isAtLeast(role, member.role);
  const tokens = falls ? tokensOf(deps, member) : [];
  const removed_tokens = tokens.map(({ id }) => id);
  await commitWithAudit(deps, async ({ tenancy, people }) => {
    await tenancy.saveMember(changed);
    for (const id of removed_tokens) await tenancy.removeToken(id);
    const revoked_links =
      falls && member.pending
        ? await people.revokeLinks("invitation", member.email, member.workspaceId, deps.clock.nowMs())
        : [];
    const detail = { email: member.email, before: member.role, after: role, removed_tokens, revoked_links };
    return {
      answer: null,
      audit: { action: "member.role", workspaceId: member.workspaceId, target: member.id, detail },
    };
  });
  deps.directory.putMember(changed);
  for (const id of removed_tokens) deps.directory.tokens.remove(id);
  return { changed, removed_tokens };
}

function findMember(deps: TenancyDeps, workspace: Workspace, email: string): Member {
  const member = memberByEmail(deps, workspace, email);
  if (member !== undefined) return member;
  throw fault("not_found", { message: `${printable(email)} is not a member of ${workspace.slug}.` });
}

/** Members with their accounts. If `own` is set, details of other members are left out. */
async function memberViews(context: ManageContext, members: readonly Member[], own: string | undefined) {
  const active = members.filter(({ pending }) => !pending);
  const people = await context.store.people.summariesByEmail(active.map(({ email }) => email));
  const byEmail = new Map(people.map((person) => [person.email, person]));
  return members.map((member) =>
    memberListedView(member, byEmail.get(member.email), {
      hasAccountDetails: own === undefined || member.id === own,
    }),
  );
}

/** A member added by the operator is active at once, so the account's address must be verified. */
async function requireVerifiedEmail(context: ManageContext, email: string): Promise<void> {
  const [person] = await context.store.people.summariesByEmail([email]);
  if (person === undefined || person.emailVerified) return;
  throw fault("conflict", {
    message: `${printable(email)} already has an account. Send an invitation (gateway invitation create); the membership starts when it is accepted.`,
    param: "email",
  });
}

export function memberHandlers(context: ManageContext): Record<string, Handler> {
  return {
    manageListMembers: buffered(async (exchange) => {
      const workspace = findWorkspace(context, exchange.params["workspace"]);
      const { limit, cursor } = readQuery(exchange, PageQuery);
      const { rows, next } = paginate(context.directory.members(workspace.id), limit, cursor);
      return { status: 200, json: { data: await memberViews(context, rows, ownMemberId(exchange)), next } };
    }),
    manageAddMember: mutation(context, async (exchange, scope) => {
      const workspace = findWorkspace(scope, exchange.params["workspace"]);
      const { email, role } = await readBody(exchange, MemberAdd);
      requireRoleAtLeast(exchange, role ?? "member");
      const added = newMember(scope, workspace, email, role ?? "member");
      // A member added by an admin is pending: it needs the person's consent and reveals no account.
      const requested: Member = { ...added, pending: exchange.membership !== undefined };
      requireFreshSignInForRole(scope, exchange, requested.role);
      const member = await scope.serialized(() => addMember(scope, workspace, requested));
      return { status: 201, json: memberView(member) };
    }),
    manageRemoveMember: mutation(context, async (exchange, scope) => {
      const workspace = findWorkspace(scope, exchange.params["workspace"]);
      const email = exchange.params["email"] ?? "";
      return scope.serialized(async () => {
        const member = findMember(scope, workspace, email);
        requireRoleAtLeast(exchange, member.role);
        requireRemovable(scope, member);
        const ended = await removeMember(scope, member);
        return { status: 200, json: { id: member.id, email: member.email, removed: true, ...ended } };
      });
    }),
    manageChangeMember: mutation(context, async (exchange, scope) => {
      const workspace = findWorkspace(scope, exchange.params["workspace"]);
      const { role } = await readBody(exchange, MemberPatch);
      return scope.serialized(async () => {
        const member = findMember(scope, workspace, exchange.params["email"] ?? "");
        requireRoleAtLeast(exchange, member.role);
        requireRoleAtLeast(exchange, role);
        // A role given by the operator activates a pending membership.
        if (exchange.membership === undefined && member.pending) {
          requireFreshSignInForRole(scope, exchange, role);
          const activated = await addMember(scope, workspace, { ...member, role, pending: false });
          return { status: 200, json: { ...memberView(activated), removed_tokens: [] } };
        }
        requireFreshSignInForRole(scope, exchange, role, member.role);
        const { changed, removed_tokens } = await changeRole(scope, member, role);
        return { status: 200, json: { ...memberView(changed), removed_tokens } };
      });
    }),
    manageShowKeyPolicy: buffered(async (exchange) => ({
      status: 200,
      json: keyPolicyView(findWorkspace(context, exchange.params["workspace"]).keyPolicy),
    })),
    manageChangeKeyPolicy: mutation(context, async (exchange, scope) => {
      const { id } = findWorkspace(scope, exchange.params["workspace"]);
      const body = await readBody(exchange, KeyPolicyPatch);
      const ipAllowlist = body.ip_allowlist === undefined ? undefined : parseAllowlist(body.ip_allowlist);
      return scope.serialized(async () => {
        const changed = await changeKeyPolicy(scope, findWorkspace(scope, id), {
          ...(body.personal_keys === undefined ? {} : { personalKeys: body.personal_keys }),
          ...(body.approval === undefined ? {} : { approval: body.approval }),
          ...(ipAllowlist === undefined ? {} : { ipAllowlist }),
        });
        return { status: 200, json: keyPolicyView(changed.keyPolicy) };
      });
    }),
  };
}
