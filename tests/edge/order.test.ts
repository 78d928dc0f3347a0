import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { FaultCode } from "../../src/contract/faults.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { CHAT, expectRefusal, HELLO } from "./wire.ts";

const RPM_IP = 10;
const BODY_MAX = 2048;
/** An address over its rate limit. */
const BUSY = "198.51.100.1";

let gateway: TestGateway;
let callers = 0;
/** Slugs by the properties of a workspace. */
const workspaces = new Map<string, string>();

/** Every call has its own address, so that only a planned one meets its rate limit. */
function fresh(): string {
  callers += 1;
  return `10.0.${Math.floor(callers / 250)}.${(callers % 250) + 1}`;
}

function call(token: string, path: string, init: Record<string, unknown> = {}, address = fresh()) {
  return gateway.call(token, path, { ...init, headers: { "x-forwarded-for": address } });
}

async function manage(method: string, path: string, body?: unknown) {
  const answer = await call(gateway.adminToken, `/manage${path}`, { method, ...(body === undefined ? {} : { body }) });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body;
}

beforeAll(async () => {
  gateway = await startGateway({
    env: {
      GATEWAY_RPM_IP: String(RPM_IP),
      GATEWAY_TRUSTED_PROXIES: "127.0.0.1",
      GATEWAY_BODY_MAX_BYTES: String(BODY_MAX),
    },
  });
  for (let sent = 0; sent < RPM_IP; sent += 1) await call("", "/llms.txt", {}, BUSY);
});
afterAll(() => gateway.close());

/** A request before it is sent, with its key and workspace. */
type Draft = {
  path: string;
  method: string;
  address: string;
  key: Record<string, unknown>;
  policy: Record<string, unknown>;
  credit: "some" | "none";
  standing: "valid" | "revoked" | "spent";
  body: Record<string, unknown>;
  text: (body: string) => string;
};

type Flaw = {
  readonly what: string;
  readonly code: FaultCode;
  readonly status: number;
  readonly spoil: (draft: Draft) => void;
};

/** Every possible error of a chat request, in the order of precedence. */
const FLAWS: readonly Flaw[] = [
  {
    what: "path",
    code: "not_found",
    status: 404,
    spoil: (draft) => {
      draft.path = "/v1/chat/nothing";
    },
  },
  {
    what: "method",
    code: "method_not_allowed",
    status: 405,
    spoil: (draft) => {
      draft.method = "PUT";
    },
  },
  {
    what: "limit of the address",
    code: "rate_limit_exceeded",
    status: 429,
    spoil: (draft) => {
      draft.address = BUSY;
    },
  },
  {
    what: "key",
    code: "invalid_api_key",
    status: 401,
    spoil: (draft) => {
      draft.standing = "revoked";
    },
  },
  {
    what: "address",
    code: "ip_not_allowed",
    status: 403,
    spoil: (draft) => {
      draft.key["ip_allowlist"] = ["192.0.2.1"];
    },
  },
  {
    what: "scope",
    code: "insufficient_scope",
    status: 403,
    spoil: (draft) => {
      draft.key["scopes"] = ["inference:models"];
    },
  },
  {
    what: "window of the key",
    code: "rate_limit_exceeded",
    status: 429,
    spoil: (draft) => {
      draft.standing = draft.standing === "revoked" ? "revoked" : "spent";
    },
  },
  {
    what: "size",
    code: "request_too_large",
    status: 413,
    spoil: (draft) => {
      const before = draft.text;
      draft.text = (body) => before(body) + " ".repeat(BODY_MAX);
    },
  },
  {
    what: "JSON",
    code: "invalid_json",
    status: 400,
    spoil: (draft) => {
      const before = draft.text;
      draft.text = (body) => before(body).replace(/\}/g, "");
    },
  },
  {
    what: "unknown field",
    code: "unsupported_parameter",
    status: 400,
    spoil: (draft) => {
      draft.body["bogus"] = 1;
    },
  },
  {
    what: "missing field",
    code: "invalid_value",
    status: 400,
    spoil: (draft) => {
      delete draft.body["messages"];
    },
  },
  {
    what: "model",
    code: "model_not_found",
    status: 404,
    spoil: (draft) => {
      draft.body["model"] = "no/such-model";
    },
  },
  {
    what: "permission for the model",
    code: "model_not_permitted",
    status: 403,
    spoil: (draft) => {
      draft.policy["allowed_models"] = ["sandbox/chat-fr"];
    },
  },
  {
    what: "policy",
    code: "sovereignty_floor_not_met",
    status: 403,
    spoil: (draft) => {
      draft.policy["floor"] = "L4";
    },
  },
  {
    what: "parameter support",
    code: "unsupported_parameter",
    status: 400,
    spoil: (draft) => {
      draft.body["top_k"] = 5;
    },
  },
  {
    what: "credit",
    code: "insufficient_credits",
    status: 402,
    spoil: (draft) => {
      draft.credit = "none";
    },
  },
];

async function send(flaws: readonly Flaw[]) {
  const draft: Draft = {
    path: CHAT,
    method: "POST",
    address: fresh(),
    key: { name: "k" },
    policy: {},
    credit: "some",
    standing: "valid",
    body: { ...HELLO },
    text: (body) => body,
  };
  for (const { spoil } of flaws) spoil(draft);
  const { key, id } = await tenantFor(draft);
  if (draft.standing === "revoked") await manage("POST", `/keys/${id}/revoke`);
  if (draft.standing === "spent") {
    // The window is used up while the key still works, then the key gets its flaws.
    await manage("PATCH", `/keys/${id}`, { rpm: 1, ip_allowlist: null, scopes: null });
    expect((await call(key, "/v1/models/sandbox/chat-mini")).status).toBeLessThan(500);
    const { name: _, ...settings } = draft.key;
    await manage("PATCH", `/keys/${id}`, settings);
  }
  const body = draft.text(JSON.stringify(draft.body));
  return call(key, draft.path, { method: draft.method, body }, draft.address);
}

/** A separate key in the workspace with that policy and credit. */
async function tenantFor({
  policy,
  credit,
  key,
}: Pick<Draft, "policy" | "credit" | "key">): Promise<{ key: string; id: string }> {
  const of = JSON.stringify([policy, credit]);
  const slug = workspaces.get(of) ?? `order-${workspaces.size}`;
  if (!workspaces.has(of)) {
    workspaces.set(of, slug);
    await manage("POST", "/workspaces", { slug });
    if (credit === "some") await manage("POST", `/workspaces/${slug}/wallet/credits`, { amount: "1" });
    if (Object.keys(policy).length > 0) await manage("PATCH", `/workspaces/${slug}/policy`, policy);
  }
  return manage("POST", `/workspaces/${slug}/keys`, key);
}

describe("one error", () => {
  test("ERR-10 the request without errors is accepted", async () => {
    expect((await send([])).status).toBe(200);
  });

  test.each(FLAWS.map((flaw) => [flaw.what, flaw.code, flaw] as const))("ERR-10 %s: %s", async (_, code, flaw) => {
    expectRefusal(await send([flaw]), flaw.status, code);
  });
});

describe("two errors", () => {
  const pairs = FLAWS.flatMap((first, index) =>
    FLAWS.slice(index + 1).map((second) => [first.what, second.what, first, second] as const),
  );

  test.each(pairs)("ERR-10 %s answers before %s", async (_, __, first, second) => {
    expectRefusal(await send([first, second]), first.status, first.code);
  });
});

test("ERR-10 with all errors at once, fixing each reveals the next", async () => {
  for (const [index, flaw] of FLAWS.entries()) expectRefusal(await send(FLAWS.slice(index)), flaw.status, flaw.code);
});

test.each([
  ["two parameters that exclude each other", "sandbox/claude", { temperature: 0.3, reasoning_effort: "high" }],
  ["more stop sequences than the model takes", "sandbox/gemini", { stop: ["a", "b", "c", "d", "e", "f"] }],
])("ERR-10 %s, which only encoding reveals, take precedence over an empty wallet", async (_, model, wrong) => {
  const { key } = await tenantFor({ policy: {}, credit: "none", key: { name: "k" } });
  const sendChat = (body: object) =>
    call(key, CHAT, { method: "POST", body: JSON.stringify({ ...HELLO, model, ...body }) });
  expectRefusal(await sendChat({}), 402, "insufficient_credits");
  const { status, body } = await sendChat(wrong);
  expect([status, body.error.type]).toEqual([400, "invalid_request_error"]);
  expect(Object.keys(wrong)).toContain(body.error.param);
  expect(body.error.message).toContain(model);
});
