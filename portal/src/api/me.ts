import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import type { z } from "zod";
import type { MeView } from "../../../src/contract/schemas/people.ts";
import { send } from "./client.ts";
import type { ApiError } from "./error.ts";

type Standing = z.output<typeof MeView>;
/** How one can come in here. */
export type SignInWays = Standing["sign_in"];
export type Membership = Standing["workspaces"][number];
export type Role = Membership["role"];
/** Who is signed in, with the workspaces they are a member of. */
export type Me = NonNullable<Standing["person"]> & Pick<Standing, "workspaces" | "may_create_workspace">;

export const ME_KEY = ["me"] as const;

const ASKED = {
  queryKey: ME_KEY,
  queryFn: ({ signal }: { signal: AbortSignal }) => send<Standing>("GET", "/manage/me", undefined, signal),
  staleTime: 60_000,
} as const;

/** As it is now, whatever was read before. */
export const askMe = () => send<Standing>("GET", "/manage/me");

function meOf({ person, workspaces, may_create_workspace }: Standing): Me | null {
  return person === null ? null : { ...person, workspaces, may_create_workspace };
}

/** Who is signed in; null: nobody. */
export function useMe(): UseQueryResult<Me | null, ApiError> {
  return useQuery<Standing, ApiError, Me | null>({ ...ASKED, select: meOf });
}

/** Which ways of signing in this gateway has. */
export function useSignInWays(): UseQueryResult<SignInWays, ApiError> {
  return useQuery<Standing, ApiError, SignInWays>({ ...ASKED, select: (standing) => standing.sign_in });
}
