import { isJsonObject } from "../../kit/json.ts";

/** A text field of a request body; "" when it is absent or no text. */
export function textField(fields: unknown, name: string): string {
  const value = isJsonObject(fields) ? fields[name] : undefined;
  return typeof value === "string" ? value : "";
}
