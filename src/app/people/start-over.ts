import { fault } from "../../contract/faults.ts";
import type { PersonRecord } from "../../domain/tenancy/person.ts";
import { change } from "../manage/deps.ts";
import { removeToken } from "../manage/tenancy/tokens.ts";
import type { PeopleDeps } from "./deps.ts";
import { SIGN_IN_AGAIN } from "./refusals.ts";

/**
 * The provider says whose the address is. An account that somebody was able to make, or to give a password, with an
 * admin's link may be another's in this name: what they come in by goes, before the one who was meant comes in.
 */
export async function startOver(deps: PeopleDeps, userId: string): Promise<void> {
  const { store, directory, inTurn } = deps;
  const unproven = async () => {
    const person = await store.people.person(userId);
    return person?.proven === false ? person : undefined;
  };
  // Who has nothing to start over does not wait: a turn needs what instances share.
  if ((await unproven()) === undefined) return;
  await inTurn(async () => {
    const person = await unproven();
    if (person === undefined) return;
    const { email } = person;
    // First, as each is a change of its workspace: when one breaks off, the account is as it was, and starts over again.
    for (const token of directory.tokens.madeBy(email)) await removeToken(deps, token, { of: email }, email);
    await takeAway(deps, person, { how: "single sign-on" });
  });
}

/**
 * What was under way when an account started over was begun by whoever had it: it may have written a password, a
 * passkey, a second factor or a session after all of them were taken away. `before`: the accounts as it began.
 */
export async function undoLate(deps: PeopleDeps, before: readonly (PersonRecord | undefined)[]): Promise<void> {
  let isLate = false;
  for (const { id, startedOverAtMs } of before.filter((one) => one !== undefined)) {
    const person = await deps.store.people.person(id);
    if (person === undefined || person.startedOverAtMs === startedOverAtMs) continue;
    await takeAway(deps, person, { how: "a call that had begun before" });
    isLate = true;
  }
  if (isLate) throw fault("not_signed_in", { message: SIGN_IN_AGAIN });
}

function takeAway(deps: PeopleDeps, person: PersonRecord, detail: { readonly how: string }): Promise<null> {
  const { id, email } = person;
  return change(deps, async ({ people }) => {
    await people.startOver(person, deps.clock.nowMs());
    return {
      answer: null,
      audit: { actor: email, action: "person.start_over", workspaceId: null, target: id, detail },
    };
  });
}
