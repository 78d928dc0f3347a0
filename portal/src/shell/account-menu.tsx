import { useQueryClient } from "@tanstack/react-query";
import { useNavigateTo } from "../address.ts";
import { apiErrorOf } from "../api/error.ts";
import type { Me } from "../api/me.ts";
import { signOut } from "../api/people.ts";
import { Menu } from "../ui/menu.tsx";
import { toast } from "../ui/toast.tsx";

export function AccountMenu({ me }: { readonly me: Me }) {
  const leave = useSignOut();
  const shown = me.name === "" ? me.email : me.name;
  return (
    <Menu
      label="Account"
      align="start"
      items={[
        { label: "Account", icon: "person", to: "/app/account" },
        { label: "Sign out", icon: "out", onSelect: leave },
      ]}
      className="mr-auto flex h-8 min-w-0 items-center gap-2 rounded-md px-1.5 hover:bg-hover"
    >
      <span
        aria-hidden="true"
        className="grid size-5.5 shrink-0 place-items-center rounded-full bg-sunken text-2xs font-semibold uppercase"
      >
        {shown.slice(0, 1)}
      </span>
      <span className="min-w-0 truncate">
        <span className="sr-only">Account: </span>
        {shown}
      </span>
    </Menu>
  );
}

/** Ends the session and forgets everything that was read with it. */
export function useSignOut(): () => void {
  const client = useQueryClient();
  const go = useNavigateTo();
  return () => {
    signOut().then(
      () => {
        client.clear();
        // Keys of the playground are kept there.
        sessionStorage.clear();
        go("/app/sign-in");
      },
      (thrown) => toast(apiErrorOf(thrown).message, "bad"),
    );
  };
}
