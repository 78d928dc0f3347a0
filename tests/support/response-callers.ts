import { eventually } from "./eventually.ts";
import type { Called, Json, TestGateway } from "./gateway.ts";
import { responseFrames, responseJson } from "./responses-native.ts";
import { MODEL } from "./scene.ts";
import { chatFrames, chatJson, type ReplySource, type Script } from "./upstream.ts";

/** The responses API as one caller uses it. */
export type Caller = {
  post(body?: Record<string, unknown>): Promise<Called>;
  get(id: string, query?: string): Promise<Called>;
  remove(id: string): Promise<Called>;
  cancel(id: string): Promise<Called>;
  inputItems(id: string, query?: string): Promise<Called>;
  /** The response once it is in one of these states. */
  once(id: string, ...statuses: readonly string[]): Promise<Json>;
};

export function callerWith(gateway: Pick<TestGateway, "call">, key: string): Caller {
  const at = (id: string, rest = "") => `/v1/responses/${id}${rest}`;
  const get = (id: string, query = "") => gateway.call(key, at(id, query));
  return {
    post: (body = {}) => gateway.call(key, "/v1/responses", { body: { model: MODEL, input: "Say hello.", ...body } }),
    get,
    remove: (id) => gateway.call(key, at(id), { method: "DELETE" }),
    cancel: (id) => gateway.call(key, at(id, "/cancel"), { method: "POST" }),
    inputItems: (id, query = "") => gateway.call(key, at(id, `/input_items${query}`)),
    once: (id, ...statuses) =>
      eventually(
        async () => {
          const { body } = await get(id);
          if (!statuses.includes(body.status)) throw new Error(`${id} is ${body.status ?? JSON.stringify(body)}`);
          return body;
        },
        { timeout: 15_000, interval: 20 },
      ),
  };
}

/** Two providers of the same model: one on the translated path, the other on the passthrough path. */
export const WAYS = { translated: "ionos", native: "ovhcloud" } as const;
export type Way = keyof typeof WAYS;

/** Replies in the dialect of the path, complete or streamed as requested. */
export function replyingWith(way: Way, words: readonly string[]): Exclude<ReplySource, Script> {
  return ({ json }) => {
    const streamed = typeof json === "object" && json !== null && "stream" in json && json.stream === true;
    if (way === "native") return streamed ? { frames: responseFrames(words) } : { json: responseJson() };
    return streamed
      ? { frames: chatFrames(words, { usage: "asked" }) }
      : { json: chatJson({ content: words.join("") }) };
  };
}

/** Frames of a reply in the dialect of the path. */
export function framesOf(way: Way, words: readonly string[]): string[] {
  return way === "native" ? responseFrames(words) : chatFrames(words, { usage: "asked" });
}

/** A gate that a test opens. */
export function gate(): { readonly closed: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { closed: promise, open: () => resolve() };
}
