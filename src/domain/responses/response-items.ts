import { isJsonObject, type JsonObject } from "../../kit/json.ts";

const PREFIXES: Readonly<Record<string, string>> = {
  message: "msg",
  reasoning: "rs",
  function_call: "fc",
  function_call_output: "fco",
};

const RESPONSE_PREFIX = "resp_";

/** The name of an item that is made from its response's id and its place: among the input, and the output behind it. */
export function derivedItemId(responseId: string, item: JsonObject, place: number): string {
  const prefix = PREFIXES[itemTypeOf(item)] ?? "item";
  return `${prefix}_${responseId.replace(RESPONSE_PREFIX, "")}_in${place}`;
}

/** The response that an item with a made name belongs to. */
export function responseIdOfItem(itemId: string): string | undefined {
  const made = /^[a-z]+_([0-9a-f]{32})_in\d+$/.exec(itemId);
  return made === null ? undefined : `${RESPONSE_PREFIX}${made[1]}`;
}

export function itemIdOf(item: JsonObject): string | undefined {
  return typeof item["id"] === "string" && item["id"] !== "" ? item["id"] : undefined;
}

export function itemTypeOf(item: JsonObject): string {
  return typeof item["type"] === "string" ? item["type"] : "message";
}

/** What a response said, as items. */
export function outputItems(response: JsonObject): JsonObject[] {
  const { output } = response;
  return Array.isArray(output) ? output.filter(isJsonObject) : [];
}
