import type { Operations } from "../../../src/contract/operations.ts";
import { ApiError, errorOf } from "./error.ts";
import { OPERATIONS } from "./operations.gen.ts";

export type OperationId = keyof Operations & keyof typeof OPERATIONS;
export type ApiResponse<Id extends OperationId> = Operations[Id]["answer"];
/** One item of a list route's response. */
export type Row<Id extends OperationId> =
  ApiResponse<Id> extends { readonly data: readonly (infer One)[] } ? One : never;

/** Required if the route requires it, optional if all of its fields are, absent otherwise. */
type RequestPart<Name extends string, Type> = [Type] extends [undefined]
  ? { readonly [K in Name]?: undefined }
  : object extends Type
    ? { readonly [K in Name]?: Type | undefined }
    : { readonly [K in Name]: Type };

export type Args<Id extends OperationId> = RequestPart<"params", Operations[Id]["params"]> &
  RequestPart<"query", Operations[Id]["query"]> &
  RequestPart<"body", Operations[Id]["body"]>;

/** Arguments of any call, without the types of its route. */
export type UntypedArgs = {
  readonly params?: object | undefined;
  readonly query?: object | undefined;
  readonly body?: unknown;
};

/** Calls a management route by its operation id; every failure is an ApiError. */
export async function call<Id extends OperationId>(
  id: Id,
  args: Args<Id>,
  signal?: AbortSignal,
): Promise<ApiResponse<Id>> {
  const { method } = OPERATIONS[id];
  return send(method, urlOf(id, args), args.body, signal);
}

/** For routes outside the management API: the public catalogue and sign-in. `T` is the response type. */
export async function send<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const init = {
    method,
    headers: {
      accept: "application/json",
      // Protects against cross-site requests over plain HTTP, where fetch metadata headers are missing.
      "x-svc-portal": "1",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  };
  const response = await fetchFromGateway(path, init);
  const responseBody = parseJson(await mapNetworkErrors(init, response.text()));
  if (!response.ok) throw errorOf(response.status, responseBody, response.headers.get("x-svc-request-id"));
  return responseBody;
}

/** The path and query of a call, also for links that the browser opens itself (exports). */
export function urlOf(id: OperationId, { params = {}, query = {} }: UntypedArgs): string {
  const path = OPERATIONS[id].path.replace(/\{(\w+)(\+?)\}/g, (_, name: string, rest: string) => {
    const value = String(Reflect.get(params, name) ?? "");
    // A rest parameter keeps its slashes.
    return rest === "" ? encodeURIComponent(value) : value.split("/").map(encodeURIComponent).join("/");
  });
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === "") continue;
    search.set(name, Array.isArray(value) ? value.join(",") : String(value));
  }
  return search.size === 0 ? path : `${path}?${search}`;
}

/** Throws an ApiError if the gateway does not respond. */
export async function checkGatewayReachable(): Promise<void> {
  await fetchFromGateway("/", { method: "HEAD", cache: "no-store" });
}

function fetchFromGateway(path: string, init: RequestInit): Promise<Response> {
  const request = () => fetch(path, { ...init, credentials: "same-origin" });
  const early = init.method === "GET" ? takeEarlyResponse(path) : undefined;
  return mapNetworkErrors(init, early === undefined ? request() : early.then((response) => response ?? request()));
}

/** Responses that theme-first.js requested before the scripts were loaded; each is used once. */
function takeEarlyResponse(path: string): Promise<Response | undefined> | undefined {
  const early: unknown = Reflect.get(globalThis, "earlyResponses");
  if (!(early instanceof Map)) return undefined;
  const response = early.get(path);
  early.delete(path);
  return response;
}

/** Also wraps reading the body: a response may break off after its headers. */
async function mapNetworkErrors<T>(init: RequestInit, pending: Promise<T>): Promise<T> {
  try {
    return await pending;
  } catch (thrown) {
    if (init.signal?.aborted) throw thrown;
    throw new ApiError({
      status: 0,
      code: "unreachable",
      message: "Can't reach the gateway. Check your connection and try again.",
    });
  }
}

function parseJson(text: string) {
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
