import { createContext, useContext } from "react";
import { ApiError } from "./error.ts";

export type RunReauthenticated = <T>(work: () => Promise<T>) => Promise<T>;

/** Set by the app frame; without it a call runs as is. */
export const ReauthenticationContext = createContext<RunReauthenticated>((work) => work());

/** Runs a call that requires a recent sign-in; on `fresh_sign_in_needed` it opens the sign-in dialog and retries. */
export function useReauthentication(): RunReauthenticated {
  return useContext(ReauthenticationContext);
}

export async function retryAfterReauthentication<T>(work: () => Promise<T>, prove: () => Promise<unknown>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (!(thrown instanceof ApiError) || thrown.code !== "fresh_sign_in_needed") throw thrown;
    await prove();
    return work();
  }
}
