import { isJsonObject, type JsonObject } from "../../kit/json.ts";

const PREFIXES: Readonly<Record<string, string>> = {
  message: "msg",
  reasoning: "rs",
  function_call: "fc",
  function_call_output: "fco",
};

const RESPONSE_PREFIX = "resp_";

/** Items of one response, each with an id: the sender's own, or one made from the response's id and its place. */
export function namedItems(responseId: string, items: readonly JsonObject[]): JsonObject[] {
  return items.map((item, place) => {
    if (idOf(item) !== undefined) return item;
    const type = typeof item["type"] === "string" ? item["type"] : "message";
    const name = `${PREFIXES[type] ?? "item"}_${responseId.replace(RESPONSE_PREFIX, "")}_in${place}`;
    return { ...item, type, id: name };
  });
}

/** The response whose input an item made by `namedItems` belongs to. */
export function ownerOf(itemId: string): string | undefined {
  const made = /^[a-z]+_([0-9a-f]{32})_in\d+$/.exec(itemId);
  return made === null ? undefined : `${RESPONSE_PREFIX}${made[1]}`;
}

export function idOf(item: JsonObject): string | undefined {
  return typeof item["id"] === "string" && item["id"] !== "" ? item["id"] : undefined;
}

/** What a response said, as items. */
export function outputOf(response: JsonObject): JsonObject[] {
  const { output } = response;
  return Array.isArray(output) ? output.filter(isJsonObject) : [];
}
