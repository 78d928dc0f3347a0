import { invalidValue } from "../../contract/faults.ts";
import type { Call } from "../canon/call.ts";

const LABELS = ["safety_identifier", "user"] as const;

/** Dialects without a place for these ignore them whatever they are; the others are told a string or nothing. */
export function demandLabels({ chatOnly }: Call): void {
  const odd = LABELS.find((row) => chatOnly?.[row] != null && typeof chatOnly[row] !== "string");
  if (odd !== undefined) throw invalidValue(odd, "it must be a string");
}
