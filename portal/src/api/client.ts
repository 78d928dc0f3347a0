import type { Operations } from "../../../src/contract/operations.ts";
import { ApiError, errorOf } from "./error.ts";
import { OPERATIONS } from "./operations.gen.ts";

export type OperationId = keyof Operations & keyof typeof OPERATIONS;
export type Answer<Id extends OperationId> = Operations[Id]["answer"];
/** One row of a route that answers a list. */
export type Row<Id extends OperationId> = Answer<Id> extends { readonly data: readonly (infer One)[] } ? One : never;

/** A part is asked for when the route needs it, may be left out when all of it is optional, and is absent otherwise. */
type Part<Name extends string, Type> = [Type] extends [undefined]
  ? { readonly [K in Name]?: undefined }
  : object extends Type
    ? { readonly [K in Name]?: Type | undefined }
    : { readonly [K in Name]: Type };

export type Args<Id extends OperationId> = Part<"params", Operations[Id]["params"]> &
  Part<"query", Operations[Id]["query"]> &
  Part<"body", Operations[Id]["body"]>;

/** Arguments of any call, as the wire sees them. */
export type LooseArgs = {
  readonly params?: object | undefined;
  readonly query?: object | undefined;
  readonly body?: unknown;
};

/** Calls a route of the management API by its id. Throws an ApiError and nothing else. */
export async function call<Id extends OperationId>(id: Id, args: Args<Id>, signal?: AbortSignal): Promise<Answer<Id>> {
  const { method } = OPERATIONS[id];
  return send(method, addressOf(id, args), args.body, signal);
}

/** For routes that the management API does not describe: the public catalogue, sign-in. `T` is what it answers. */
export async function send<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const init = {
    method,
    headers: {
      accept: "application/json",
      // Over plain http nothing else tells it from what a foreign page asks for.
      "x-svc-portal": "1",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  };
  const response = await reach(path, init);
  const answer = parsed(await reached(init, response.text()));
  if (!response.ok) throw errorOf(response.status, answer, response.headers.get("x-svc-request-id"));
  return answer;
}

/** The path of a call with its query, for addresses that a browser opens by itself (exports). */
export function addressOf(id: OperationId, { params = {}, query = {} }: LooseArgs): string {
  const path = OPERATIONS[id].path.replace(/\{(\w+)(\+?)\}/g, (_, name: string, rest: string) => {
    const value = String(Reflect.get(params, name) ?? "");
    // The rest of a path keeps its slashes.
    return rest === "" ? encodeURIComponent(value) : value.split("/").map(encodeURIComponent).join("/");
  });
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === "") continue;
    search.set(name, Array.isArray(value) ? value.join(",") : String(value));
  }
  return search.size === 0 ? path : `${path}?${search}`;
}

/** Whether the gateway is there at all; throws in its own words when it is not. */
export async function lookForGateway(): Promise<void> {
  await reach("/", { method: "HEAD", cache: "no-store" });
}

function reach(path: string, init: RequestInit): Promise<Response> {
  return reached(init, fetch(path, { ...init, credentials: "same-origin" }));
}

/** An answer may break off after its headers, too. */
async function reached<T>(init: RequestInit, coming: Promise<T>): Promise<T> {
  try {
    return await coming;
  } catch (thrown) {
    if (init.signal?.aborted) throw thrown;
    throw new ApiError({
      status: 0,
      code: "unreachable",
      message: "The gateway could not be reached. Check the connection and try again.",
    });
  }
}

function parsed(text: string) {
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
