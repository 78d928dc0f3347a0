import { useMe } from "../../api/me.ts";
import { PageHeader, Stack } from "../../ui/layout.tsx";
import { Passkeys } from "./passkeys.tsx";
import { Password } from "./password.tsx";
import { Profile } from "./profile.tsx";
import { Sessions } from "./sessions.tsx";
import { TwoFactor } from "./two-factor.tsx";

export function Screen() {
  const me = useMe().data;
  if (me === null || me === undefined) return null;
  return (
    <>
      <PageHeader title="Account" about="Your profile, sign-in methods and active sessions." />
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
