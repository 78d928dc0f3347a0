import type { PersonSummary } from "../../domain/tenancy/person.ts";
import type { Member } from "../../domain/tenancy/workspace.ts";
import { type Exchange, type Handler, whole } from "../exchange.ts";
import { commitWithAudit } from "../manage/deps.ts";
import { requireFreshSignIn } from "../manage/fresh-sign-in.ts";
import { removeMember, requireRemovable } from "../manage/tenancy/members.ts";
import { removeToken } from "../manage/tenancy/tokens.ts";
import { demandAnotherOperator, findPerson, personView, refuseOwn } from "./account-admin.ts";
import type { PeopleRoom } from "./room.ts";

/** Takes out of the store who somebody was. The id stays, so that whatever names it is whole. */
export function erasingHandlers(room: PeopleRoom): Record<string, Handler> {
  return {
    peopleErase: whole((exchange) =>
      room.mutationLock(async () => {
        const person = await findPerson(room, exchange);
        const members = membershipsOf(room, person);
        await demandErasable(room, exchange, person, members);
        await erase(room, person, members);
        return { status: 200, json: personView(room, await findPerson(room, exchange)) };
      }),
    ),
  };
}

const membershipsOf = ({ directory }: PeopleRoom, person: PersonSummary): Member[] =>
  directory
    .workspaces()
    .flatMap(({ id }) => directory.members(id))
    .filter(({ email }) => email === person.email);

/** Asked for all of it before anything is changed. */
async function demandErasable(
  room: PeopleRoom,
  exchange: Exchange,
  person: PersonSummary,
  members: readonly Member[],
): Promise<void> {
  refuseOwn(exchange, person.id);
  await demandAnotherOperator(room, person);
  for (const member of members) requireRemovable(room, member);
  requireFreshSignIn(room, exchange);
}

/**
 * The account is closed first and loses its address last: when this breaks off, nobody is signed in with it, what is left
 * is found by the address, and the same again ends the rest. Each step is a change that every instance hears of.
 */
async function erase(room: PeopleRoom, person: PersonSummary, members: readonly Member[]): Promise<void> {
  const { store, directory, clock, cacheReloader } = room;
  const { id, email } = person;
  const erased = (workspaceId: string | null) => ({ action: "person.erase", workspaceId, target: id });
  if (!person.disabled)
    await commitWithAudit(room, async ({ people }) => {
      await people.setDisabled(id, true, clock.nowMs());
      return { answer: null, audit: { action: "person.disable", workspaceId: null, target: id, detail: { email } } };
    });
  for (const member of members) await removeMember(room, member);
  for (const token of directory.tokens.createdBy(email)) await removeToken(room, token, { of: email });
  for (const workspaceId of await store.people.workspacesReferencing(email)) {
    await commitWithAudit(room, async ({ people }) => ({
      answer: await people.eraseReferences(workspaceId, person),
      audit: erased(workspaceId),
    }));
    await cacheReloader.reloadWorkspace(workspaceId);
  }
  await commitWithAudit(room, async ({ people }) => ({
    answer: await people.erase(person, clock.nowMs()),
    audit: erased(null),
  }));
}
