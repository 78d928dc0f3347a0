import { useQueryClient } from "@tanstack/react-query";
import { apiErrorOf } from "../api/error.ts";
import type { Me } from "../api/me.ts";
import { signOut } from "../api/people.ts";
import { Menu } from "../ui/menu.tsx";
import { toast } from "../ui/toast.tsx";
import { useNavigateTo } from "../url-state.ts";

export function AccountMenu({ me }: { readonly me: Me }) {
  const signOutAndRedirect = useSignOut();
  const shown = me.name === "" ? me.email : me.name;
  return (
    <Menu
      label="Account"
      align="start"
      items={[
        { label: "Account", icon: "person", to: "/app/account" },
        { label: "Sign out", icon: "out", onSelect: signOutAndRedirect },
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

/** Ends the session and clears all cached data. */
export function useSignOut(): () => void {
  const client = useQueryClient();
  const navigateTo = useNavigateTo();
  return () => {
    signOut().then(
      () => {
        client.clear();
        // Playground keys are stored there.
        sessionStorage.clear();
        navigateTo("/app/sign-in");
      },
      (thrown) => toast(apiErrorOf(thrown).message, "bad"),
    );
  };
}
