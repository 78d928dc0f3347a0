import { type Exchange, type Handler, type HttpResponse, rejectUpload } from "../../src/app/exchange.ts";
import { Fault } from "../../src/contract/faults.ts";
import type { Route } from "../../src/contract/route.ts";
import { CATALOGUE_ROUTES } from "../../src/contract/routes/catalogue.ts";
import type { Principal } from "../../src/domain/tenancy/key.ts";
import { OPEN_POLICY, type Policy } from "../../src/domain/tenancy/policy.ts";

export type Ask = {
  readonly id: string;
  readonly params?: Record<string, string>;
  readonly query?: string;
  readonly headers?: Record<string, string>;
  readonly principal?: Principal;
};

// biome-ignore lint/suspicious/noExplicitAny: bodies of answers are asserted field by field in tests
type Json = any;

export type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Json;
};

/** A call as a handler sees it. */
export function exchangeOf(route: Route, input: Omit<Ask, "id"> = {}): Exchange {
  return {
    requestId: "req_test",
    route,
    params: input.params ?? {},
    query: new URLSearchParams(input.query ?? ""),
    headers: input.headers ?? {},
    clientAddress: "127.0.0.1",
    receivedAtMs: 0,
    startedMs: 0,
    principal: input.principal,
    baseHeaders: {},
    body: async () => Buffer.alloc(0),
    upload: rejectUpload,
  };
}

/** One call of a catalogue handler, without a server around it. */
export async function ask(handlers: Record<string, Handler>, input: Ask): Promise<Answer> {
  const route = CATALOGUE_ROUTES.find(({ id }) => id === input.id);
  const handler = handlers[input.id];
  if (route === undefined || handler?.kind !== "buffered") throw new Error(`no such handler: ${input.id}`);
  const exchange = exchangeOf(route, input);
  const reply: HttpResponse = await handler.handle(exchange);
  const body = reply.json ?? (reply.bytes === undefined ? undefined : JSON.parse(reply.bytes.toString()));
  return { status: reply.status, headers: reply.headers ?? {}, body };
}

/** The fault a call ends with. */
export async function refusal(handlers: Record<string, Handler>, input: Ask): Promise<Fault> {
  try {
    await ask(handlers, input);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

export function principalWith(policy: Partial<Policy> = {}, currency = "EUR"): Principal {
  return {
    key: {
      id: "key_1",
      workspaceId: "ws_1",
      memberId: null,
      name: "key",
      kind: "workspace",
      environment: "live",
      digest: "",
      state: "active",
      scopes: null,
      ipAllowlist: null,
      expiresAtMs: null,
      graceUntilMs: null,
      rpm: null,
      policy: null,
      version: 1,
      createdAtMs: 0,
      rotatedFrom: null,
    },
    workspace: {
      id: "ws_1",
      slug: "team",
      name: "Team",
      currency,
      createdAtMs: 0,
      policy: { ...OPEN_POLICY, ...policy },
      keyPolicy: { personalKeys: false, approval: false, ipAllowlist: null },
    },
    member: undefined,
    allowlist: undefined,
  };
}
