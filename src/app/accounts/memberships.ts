import { fault } from "../../contract/faults.ts";
import { isAtLeast } from "../../domain/tenancy/actor.ts";
import { noSpendLimits, type SpendAmounts, type SpendLimits } from "../../domain/tenancy/limits.ts";
import type { AccountLink } from "../../domain/tenancy/person.ts";
import type { Member, Role, Workspace } from "../../domain/tenancy/workspace.ts";
import type { StoreWriters } from "../../io/store/sql/store.ts";
import type { Exchange } from "../exchange.ts";
import { invalidLink, issuerOf } from "./account-links.ts";
import type { AccountsContext } from "./accounts-context.ts";

/** A role in a workspace, as an invitation or the set-up link grants it. */
export type GrantedMembership = {
  readonly workspace: Workspace;
  readonly role: Role;
  /** Spend limits of the new member; absent: none. */
  readonly limits?: SpendAmounts | undefined;
};

/** The accepted memberships of an address. */
export function membershipsOf(
  { directory }: Pick<AccountsContext, "directory">,
  email: string,
): readonly GrantedMembership[] {
  return directory.workspaces().flatMap((workspace) => {
    const member = directory.activeMember(workspace.id, email);
    return member === undefined ? [] : [{ workspace, role: member.role }];
  });
}

type Acceptance = {
  readonly link: AccountLink;
  readonly granted: GrantedMembership;
  readonly email: string;
  /** Throws when the membership may not be accepted; runs again inside the mutation lock. */
  authorize(): Promise<void>;
};

/** A person with an account accepts an invitation. */
export async function acceptMembership(
  context: AccountsContext,
  exchange: Exchange,
  { link, granted, email, authorize }: Acceptance,
): Promise<Member> {
  const { ids, clock } = context;
  const now = clock.nowMs();
  return context.mutationLock.run(async () => {
    await authorize();
    if ((await issuerOf(context, link)) === "none") throw invalidLink();
    const member = memberAfterJoining(context, granted, email, now);
    const limits = limitsOnJoining(context, granted, member);
    await context.store.change(async (writers) => {
      await consumeLink(writers, link, now);
      await writers.tenancy.saveMember(member);
      if (limits !== undefined) await writers.limits.save(limits);
      const detail = { email, address: exchange.clientAddress, role: member.role };
      const entry = { id: ids.next("aud_"), atMs: now, actor: email, action: "invitation.accept", target: link.id };
      return { result: null, audit: { ...entry, workspaceId: granted.workspace.id, detail } };
    });
    context.directory.putMember(member);
    if (limits !== undefined) context.directory.limits.put(limits);
    return member;
  });
}

/** The spend limits that an invitation sets; undefined: none, or the person is a member already. */
export function limitsOnJoining(
  { directory }: Pick<AccountsContext, "directory">,
  { limits }: GrantedMembership,
  { id, workspaceId }: Member,
): SpendLimits | undefined {
  const isMember = directory.member(id)?.pending === false;
  return limits === undefined || isMember ? undefined : { ...noSpendLimits(workspaceId, "member", id), ...limits };
}

/** A new membership, the pending one with the link's role, or the accepted one unchanged. */
export function memberAfterJoining(
  { directory, ids }: AccountsContext,
  { workspace, role }: GrantedMembership,
  email: string,
  createdAtMs: number,
): Member {
  const workspaceId = workspace.id;
  const found = directory.members(workspaceId).find((member) => member.email === email);
  if (found === undefined) return { id: ids.next("mem_"), workspaceId, email, role, createdAtMs, pending: false };
  if (!found.pending) return found;
  if (isAtLeast(role, found.role)) return { ...found, role, pending: false };
  throw fault("not_allowed", {
    message: `${email} has a newer invitation to ${workspace.slug} with a higher role. Ask for a new invitation.`,
  });
}

/** Throws when a concurrent call has used the link. */
export async function consumeLink(writers: StoreWriters, link: AccountLink, nowMs: number): Promise<void> {
  if (!(await writers.people.consumeLink(link.id, nowMs))) throw invalidLink();
}
