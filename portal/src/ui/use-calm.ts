import { useEffect, useState } from "react";

const REST_MS = 250;

/** A value once it has rested: what is typed or dragged is not asked about at every step. Compared by its text. */
export function useDebounced<T>(value: T): T {
  const [calm, setCalm] = useState(value);
  const text = JSON.stringify(value);
  // biome-ignore lint/correctness/useExhaustiveDependencies: two values with the same text are the same
  useEffect(() => {
    const timer = setTimeout(() => setCalm(value), REST_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return calm;
}
