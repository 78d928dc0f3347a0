import { commitWithAudit } from "../manage/deps.ts";
import { removeToken } from "../manage/tenancy/tokens.ts";
import type { AccountsDeps } from "./accounts-deps.ts";
import { callNow } from "./under-way.ts";

/**
 * The provider says whose the address is. An account that somebody was able to make, or to give a password, with an
 * admin's link may be another's in this name: what they come in by goes, before the one who was meant comes in.
 */
export async function startOver(deps: AccountsDeps, userId: string): Promise<void> {
  const { store, directory, mutationLock, clock } = deps;
  const unproven = async () => {
    const person = await store.people.person(userId);
    return person?.emailVerified === false ? person : undefined;
  };
  // Who has nothing to start over does not wait: a turn needs what instances share.
  if ((await unproven()) === undefined) return;
  const call = callNow();
  await mutationLock(async () => {
    const person = await unproven();
    if (person === undefined) return;
    const { email } = person;
    // First, as each is a change of its workspace: when one breaks off, the account is as it was, and starts over again.
    for (const token of directory.tokens.createdBy(email)) await removeToken(deps, token, { of: email }, email);
    const epoch = await commitWithAudit(deps, async ({ people }) => ({
      answer: await people.resetCredentials(person, clock.nowMs()),
      audit: {
        actor: email,
        action: "person.start_over",
        workspaceId: null,
        target: userId,
        detail: { how: "single sign-on" },
      },
    }));
    // Whoever comes back from the provider is the one for whom it started over.
    call.epoch = epoch ?? call.epoch;
  });
}
