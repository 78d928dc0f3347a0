import { useMe } from "../../api/me.ts";
import { PageHeader, Stack } from "../../ui/layout.tsx";
import { Passkeys } from "./passkeys.tsx";
import { Password } from "./password.tsx";
import { Profile } from "./profile.tsx";
import { Sessions } from "./sessions.tsx";
import { TwoFactor } from "./two-factor.tsx";

/** One's own account: name, ways to sign in, sessions. */
export function Screen() {
  const me = useMe().data;
  if (me === null || me === undefined) return null;
  return (
    <>
      <PageHeader title="Account" about="You, the ways you sign in, and where you are signed in." />
      <Stack className="max-w-3xl">
        <Profile me={me} />
        <Password me={me} />
        <TwoFactor me={me} />
        <Passkeys />
        <Sessions />
      </Stack>
    </>
  );
}
