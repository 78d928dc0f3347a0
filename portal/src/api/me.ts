import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { send } from "./client.ts";
import type { ApiError } from "./error.ts";

export type Role = "owner" | "admin" | "member";
export type Membership = {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly currency: string;
  readonly role: Role;
};
type Person = {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly operator: boolean;
  readonly two_factor: boolean;
  readonly passkeys: number;
  readonly has_password: boolean;
  readonly may_create_workspace: boolean;
  readonly session: { readonly id: string; readonly created_at: string; readonly fresh: boolean };
};
/** How one can come in here. */
export type SignInWays = {
  readonly password: boolean;
  readonly passkey: boolean;
  readonly oidc: { readonly name: string } | null;
  readonly signup: "invited" | "open";
  readonly setup_needed: boolean;
  readonly mail: boolean;
};
type Standing = {
  readonly person: Person | null;
  readonly workspaces: readonly Membership[];
  readonly sign_in: SignInWays;
};
export type Me = Person & { readonly workspaces: readonly Membership[] };

export const ME_KEY = ["me"] as const;

function standing(select: (answer: Standing) => Me | null) {
  return {
    queryKey: ME_KEY,
    queryFn: ({ signal }: { signal: AbortSignal }) => send<Standing>("GET", "/manage/me", undefined, signal),
    staleTime: 60_000,
    select,
  };
}

function meOf({ person, workspaces }: Standing): Me | null {
  return person === null ? null : { ...person, workspaces };
}

/** Who is signed in; null: nobody. */
export function useMe(): UseQueryResult<Me | null, ApiError> {
  return useQuery<Standing, ApiError, Me | null>(standing(meOf));
}

/** Which ways of signing in this gateway has; undefined while it is asked. */
export function useSignInWays(): SignInWays | undefined {
  const { select: _, ...asked } = standing(meOf);
  return useQuery<Standing, ApiError>(asked).data?.sign_in;
}

/** The role in a workspace; undefined for an operator who is not a member of it. */
export function useRole(slug: string): Role | undefined {
  return useMe().data?.workspaces.find((one) => one.slug === slug)?.role;
}
