import { createContext, useContext } from "react";
import { ApiError } from "./error.ts";

export type Run = <T>(work: () => Promise<T>) => Promise<T>;

/** The frame puts in how somebody is asked; outside of it nobody is. */
export const FreshContext = createContext<Run>((work) => work());

/** Runs what only a recent sign-in may do: when it is too long ago, asks to prove oneself and runs it again. */
export function useFresh(): Run {
  return useContext(FreshContext);
}

/** Runs it; when the sign-in is too long ago for it, proves who it is and runs it again. */
export async function proving<T>(work: () => Promise<T>, prove: () => Promise<unknown>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (!(thrown instanceof ApiError) || thrown.code !== "fresh_sign_in_needed") throw thrown;
    await prove();
    return work();
  }
}
