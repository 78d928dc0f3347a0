import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import type { z } from "zod";
import type { MeView } from "../../../src/contract/schemas/people.ts";
import { send } from "./client.ts";
import type { ApiError } from "./error.ts";

type MeResponse = z.output<typeof MeView>;
export type SignInMethods = MeResponse["sign_in"];
export type Membership = MeResponse["workspaces"][number];
export type Role = Membership["role"];
/** The signed-in person with their workspaces. */
export type Me = NonNullable<MeResponse["person"]> & Pick<MeResponse, "workspaces" | "may_create_workspace">;

export const ME_KEY = ["me"] as const;

const ME_QUERY = {
  queryKey: ME_KEY,
  queryFn: ({ signal }: { signal: AbortSignal }) => send<MeResponse>("GET", "/manage/me", undefined, signal),
  staleTime: 60_000,
} as const;

/** Bypasses the query cache. */
export const fetchMe = () => send<MeResponse>("GET", "/manage/me");

function meOf({ person, workspaces, may_create_workspace }: MeResponse): Me | null {
  return person === null ? null : { ...person, workspaces, may_create_workspace };
}

/** The signed-in person; null: signed out. */
export function useMe(): UseQueryResult<Me | null, ApiError> {
  return useQuery<MeResponse, ApiError, Me | null>({ ...ME_QUERY, select: meOf });
}

export function useSignInMethods(): UseQueryResult<SignInMethods, ApiError> {
  return useQuery<MeResponse, ApiError, SignInMethods>({ ...ME_QUERY, select: (me) => me.sign_in });
}
