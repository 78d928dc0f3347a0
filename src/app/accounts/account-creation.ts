import { type Fault, fault } from "../../contract/faults.ts";
import type { AccountLink, NewPerson } from "../../domain/tenancy/person.ts";
import type { Member } from "../../domain/tenancy/workspace.ts";
import type { Exchange } from "../exchange.ts";
import type { AccountsContext } from "./accounts-context.ts";
import { consumeLink, type GrantedMembership, limitsOnJoining, memberAfterJoining } from "./memberships.ts";
import { hashPassword, passwordFault } from "./password-policy.ts";

export type NewAccount = { readonly email: string; readonly name: string; readonly password: string };

/** The link that an account is created through, and what it grants. */
type CreationGrant = {
  readonly link: AccountLink;
  readonly isOperator: boolean;
  /** Only a reader of the address's mailbox, or the operator's guest, can have the link. */
  readonly isEmailVerified: boolean;
  readonly granted: GrantedMembership | undefined;
  /** For the audit log. */
  readonly action: string;
  /** Throws when the account may not be created; runs inside the mutation lock. */
  authorize(): Promise<void>;
};

/**
 * Creates every account except those of single sign-on. The consumed link, person, membership, session and audit entry
 * are one transaction.
 */
export async function createAccount(
  context: AccountsContext,
  exchange: Exchange,
  account: NewAccount,
  grant: CreationGrant,
): Promise<{ readonly cookies: readonly string[]; readonly member: Member | undefined }> {
  const email = account.email.trim().toLowerCase();
  const weak = passwordFault(account.password, "password", [email, account.name]);
  if (weak !== undefined) throw weak;
  const passwordHash = await hashPassword(context, account.password);
  const { ids, clock, sessions, knownDevices } = context;
  const now = clock.nowMs();
  const person: NewPerson = {
    id: ids.next("per_"),
    email,
    name: account.name,
    operator: grant.isOperator,
    emailVerified: grant.isEmailVerified,
    passwordHash,
    createdAtMs: now,
  };
  const { session, token } = sessions.start(person, exchange);
  const joined = await context.mutationLock.run(async () => {
    await grant.authorize();
    if ((await context.store.people.personByEmail(email)) !== undefined) throw accountExists(email);
    const member = grant.granted === undefined ? undefined : memberAfterJoining(context, grant.granted, email, now);
    const limits =
      grant.granted === undefined || member === undefined ? undefined : limitsOnJoining(context, grant.granted, member);
    await context.store.change(async (writers) => {
      await consumeLink(writers, grant.link, now);
      await writers.people.addPerson(person);
      if (member !== undefined) await writers.tenancy.saveMember(member);
      if (limits !== undefined) await writers.limits.save(limits);
      await writers.people.addSession(session);
      const role = member === undefined ? {} : { role: member.role };
      const detail = { email, operator: grant.isOperator, address: exchange.clientAddress, ...role };
      const entry = { id: ids.next("aud_"), atMs: now, actor: email, action: grant.action, target: person.id };
      return { result: null, audit: { ...entry, workspaceId: grant.granted?.workspace.id ?? null, detail } };
    });
    if (member !== undefined) context.directory.putMember(member);
    if (limits !== undefined) context.directory.limits.put(limits);
    return member;
  });
  const device = await knownDevices.remember(exchange.headers.cookie, email);
  return { cookies: [await sessions.cookie(token), device], member: joined };
}

function accountExists(email: string): Fault {
  return fault("conflict", { message: `There is already an account for ${email}. Sign in instead.`, param: "email" });
}
