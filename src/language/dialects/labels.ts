import { invalidValue } from "../../contract/faults.ts";
import type { Call } from "../canon/call.ts";

const LABELS = ["safety_identifier", "user"] as const;

/** Other dialects ignore these labels; those that carry them require a string. */
export function validateLabels({ openAiParameters }: Call): void {
  const odd = LABELS.find((row) => openAiParameters?.[row] != null && typeof openAiParameters[row] !== "string");
  if (odd !== undefined) throw invalidValue(odd, "must be a string");
}
