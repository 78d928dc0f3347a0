import { createContext, useContext } from "react";

export type Run = <T>(work: () => Promise<T>) => Promise<T>;

/** The frame puts in how somebody is asked; outside of it nobody is. */
export const FreshContext = createContext<Run>((work) => work());

/** Runs what only a recent sign-in may do: when it is too long ago, asks to prove oneself and runs it again. */
export function useFresh(): Run {
  return useContext(FreshContext);
}
