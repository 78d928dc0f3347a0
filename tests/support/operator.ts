import { isJsonObject, type JsonObject } from "../../src/kit/json.ts";

export type Answer = {
  readonly status: number;
  readonly json: JsonObject;
  /** Code and param of an error. */
  readonly code: unknown;
  readonly param: unknown;
};

/** The management API over HTTP, as an operator calls it. */
export function operatorOf({ url, adminToken }: { url: string; adminToken: string }) {
  const send = async (method: string, target: string, body?: unknown): Promise<Answer> => {
    const response = await fetch(`${url}${target}`, {
      method,
      headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const parsed: unknown = await response.json();
    const json = isJsonObject(parsed) ? parsed : {};
    const error = isJsonObject(json["error"]) ? json["error"] : {};
    return { status: response.status, json, code: error["code"], param: error["param"] };
  };
  return {
    send,
    get: (target: string) => send("GET", target),
    post: (target: string, body?: unknown) => send("POST", target, body),
    patch: (target: string, body: unknown) => send("PATCH", target, body),
    delete: (target: string) => send("DELETE", target),
  };
}

export type Operator = ReturnType<typeof operatorOf>;
