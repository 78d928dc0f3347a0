import { isJsonObject, type JsonObject } from "../../kit/json.ts";

const PREFIXES: Readonly<Record<string, string>> = {
  message: "msg",
  reasoning: "rs",
  function_call: "fc",
  function_call_output: "fco",
};

const RESPONSE_PREFIX = "resp_";

/** The id of an item without one: from its response's id and its index in the input followed by the output. */
export function derivedItemId(responseId: string, item: JsonObject, index: number): string {
  const prefix = PREFIXES[itemTypeOf(item)] ?? "item";
  return `${prefix}_${responseId.replace(RESPONSE_PREFIX, "")}_in${index}`;
}

/** The response of a derived item id. */
export function responseIdOfItem(itemId: string): string | undefined {
  const match = /^[a-z]+_([0-9a-f]{32})_in\d+$/.exec(itemId);
  return match === null ? undefined : `${RESPONSE_PREFIX}${match[1]}`;
}

export function itemIdOf(item: JsonObject): string | undefined {
  return typeof item["id"] === "string" && item["id"] !== "" ? item["id"] : undefined;
}

export function itemTypeOf(item: JsonObject): string {
  return typeof item["type"] === "string" ? item["type"] : "message";
}

export function outputItems(response: JsonObject): JsonObject[] {
  const { output } = response;
  return Array.isArray(output) ? output.filter(isJsonObject) : [];
}
