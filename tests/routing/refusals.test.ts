import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Called, Tenant } from "../support/gateway.ts";
import { transcribe } from "../support/transcriptions.ts";
import { openTwoProviders, PROVIDERS, type TwoProviderScene } from "../support/two-providers.ts";
import { CELLS, type Cell, OTHER_MODELS } from "./refusal-cells.ts";

/** Each rule excludes `shut` and allows `open`. */
const RULES = {
  sovereignty_floor_not_met: { floor: "L1" },
  compute_country_not_allowed: { countries: ["FR"] },
  zero_data_retention_required: { zero_data_retention: true },
  no_training_required: { no_training: true },
  provider_blocked: { blocked_providers: ["shut"] },
} as const;
/** Each rule excludes both. */
const STRICT_RULES = {
  sovereignty_floor_not_met: { floor: "L4" },
  compute_country_not_allowed: { countries: ["DE"] },
  provider_blocked: { blocked_providers: ["open", "shut"] },
} as const;
type Rule = keyof typeof RULES;
const isRule = (name: string): name is Rule => name in RULES;
const RULE_NAMES = Object.keys(RULES).filter(isRule);

let scene: TwoProviderScene;
let free: Tenant;
/** A workspace for each rule, half of them with the rule on the key. */
const bound = new Map<Rule, Tenant>();
/** A workspace for each strict rule. */
const strict = new Map<string, Tenant>();

beforeAll(async () => {
  scene = await openTwoProviders([...CELLS, ...OTHER_MODELS]);
  free = await scene.gateway.tenant({ credit: "1000" });
  for (const [at, rule] of RULE_NAMES.entries()) {
    const tenant = await scene.gateway.tenant({ credit: "1000" });
    bound.set(rule, tenant);
    if (at % 2 === 0) await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, RULES[rule]);
    else await scene.gateway.manage("PATCH", `/keys/${tenant.keyId}`, { policy: RULES[rule] });
  }
  for (const [rule, policy] of Object.entries(STRICT_RULES)) {
    const tenant = await scene.gateway.tenant({ credit: "1000" });
    strict.set(rule, tenant);
    await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, policy);
  }
});
afterAll(() => scene.close());

const tenantOf = (rule: Rule) => bound.get(rule) ?? free;
const received = () => PROVIDERS.map((provider) => scene.at(provider).requests.length);

function send({ route, body, name }: Cell, key: string, suffix: "" | "-open" | "-shut"): Promise<Called> {
  const model = `lab/${name}${suffix}`;
  if (route !== "/v1/audio/transcriptions") return scene.call(key, route, { ...body, model });
  return transcribe(scene.gateway, key, [
    ["model", model],
    ...Object.entries(body).map(([k, v]) => [k, String(v)] as const),
  ]);
}

const reasonOf = ({ status, body }: Called) => ({ status, code: body.error?.code, param: body.error?.param });

describe.each([...new Set(CELLS.map(({ route }) => route))])("%s", (route) => {
  const rows = CELLS.filter((cell) => cell.route === route).map(
    (cell) => [`${cell.param} ${cell.name}`, cell] as const,
  );

  test.each(rows)("ERR-13 %s is refused by name among what policy allows", async (_, cell) => {
    const expected = { status: cell.status, code: cell.code, param: cell.param };
    const [openBefore = 0, shutBefore = 0] = received();
    await send(cell, free.key, "");
    const [open, shut = 0] = received();
    // Without a policy, the capable endpoint gets it. A local count of tokens calls no provider.
    expect(open, "the endpoint without the capability was called").toBe(openBefore);
    if (!route.endsWith("count_tokens")) expect(shut).toBeGreaterThan(shutBefore);
    const before = received();
    expect(reasonOf(await send(cell, free.key, "-open"))).toEqual(expected);
    for (const rule of RULE_NAMES) {
      const { key } = tenantOf(rule);
      const refused = await send(cell, key, "");
      expect(reasonOf(refused), `${rule}: ${refused.text}`).toEqual(expected);
      const { message } = refused.body.error;
      expect(message).toContain(
        `Policy excludes endpoints that support the request: shut:one:lab/${cell.name} (${rule}: `,
      );
      const alone = await send(cell, key, "-shut");
      expect([alone.status, alone.body.error?.code], alone.text).toEqual([403, rule]);
      expect(alone.body.error.message).toContain(`shut:one:lab/${cell.name}-shut`);
    }
    expect(received()).toEqual(before);
  });

  test.each(rows)(
    "ERR-13 ERR-08 %s: the rule answers when policy leaves no endpoint, capable or not",
    async (_, cell) => {
      const before = received();
      for (const [rule, { key }] of strict)
        for (const suffix of ["", "-open", "-shut"] as const) {
          const refused = await send(cell, key, suffix);
          expect([refused.status, refused.body.error?.code], refused.text).toEqual([403, rule]);
        }
      expect(received()).toEqual(before);
    },
  );

  test.each(rows)("ERR-13 MOD-01 %s: the model object of the same key agrees", async (_, cell) => {
    for (const rule of RULE_NAMES) {
      const { key } = tenantOf(rule);
      const { body } = await scene.call(key, `/v1/models/lab/${cell.name}`, undefined);
      expect(body.svc_providers).toEqual(["open"]);
      if (cell.capability !== undefined) expect(body.svc_capabilities).not.toContain(cell.capability);
      const none = await scene.call(key, `/v1/models/lab/${cell.name}-shut`, undefined);
      expect([none.status, none.body.error.code]).toEqual([404, "model_not_found"]);
      expect(none.body.error.message).toContain("policy");
    }
    if (cell.capability === undefined) return;
    const { body } = await scene.call(free.key, `/v1/models/lab/${cell.name}`, undefined);
    expect(body.svc_capabilities).toContain(cell.capability);
  });
});

const cellOf = (prefix: string, param: string): Cell => {
  const found = CELLS.find((cell) => cell.name.startsWith(prefix) && cell.param === param);
  if (found === undefined) throw new Error(`no cell ${prefix} ${param}`);
  return found;
};
const TOP_K = cellOf("chat", "top_k");

describe("other sources of policy", () => {
  test("ERR-13 POL-01 a router's floor and a request's own demand count as policy", async () => {
    const tenant = await scene.gateway.tenant({ credit: "10" });
    const model = `lab/${TOP_K.name}`;
    await scene.gateway.manage("PUT", `/workspaces/${tenant.slug}/routers/eu`, { models: [model], floor: "L1" });
    const routed = await scene.call(tenant.key, TOP_K.route, { ...TOP_K.body, model: `@${tenant.slug}/eu` });
    expect(reasonOf(routed)).toEqual({ status: 400, code: "unsupported_parameter", param: "top_k" });
    expect(routed.body.error.message).toContain(`shut:one:${model} (sovereignty_floor_not_met: `);
    const demanded = await scene.call(tenant.key, TOP_K.route, { ...TOP_K.body, model, provider: { zdr: true } });
    expect(reasonOf(demanded)).toEqual({ status: 400, code: "unsupported_parameter", param: "top_k" });
    const none = await scene.call(tenant.key, TOP_K.route, {
      ...TOP_K.body,
      model: `${model}-shut`,
      provider: { zdr: true },
    });
    expect([none.status, none.body.error.code]).toEqual([403, "zero_data_retention_required"]);
  });

  test("ERR-13 AUTH-09 models that policy does not allow are refused before a parameter, and named beside it", async () => {
    const tenant = await scene.gateway.tenant({ credit: "10" });
    const model = `lab/${TOP_K.name}-open`;
    await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { allowed_models: [model] });
    const barred = await scene.call(tenant.key, TOP_K.route, { ...TOP_K.body, model: `lab/${TOP_K.name}` });
    expect([barred.status, barred.body.error.code]).toEqual([403, "model_not_permitted"]);
    const auto = await scene.call(tenant.key, TOP_K.route, { ...TOP_K.body, model: "auto" });
    expect(reasonOf(auto)).toEqual({ status: 400, code: "unsupported_parameter", param: "top_k" });
    expect(auto.body.error.message).toMatch(/Policy does not allow the model lab\/.+ and \d+ more\./);
  });

  test("ERR-13 ERR-08 several rules that together leave none: 403 no_eligible_endpoint, whatever the request asks", async () => {
    const tenant = await scene.gateway.tenant({ credit: "10" });
    const policy = { blocked_providers: ["open"], floor: "L1" };
    await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, policy);
    for (const cell of CELLS.filter(({ name }) => name.endsWith("-1"))) {
      const refused = await send(cell, tenant.key, "");
      expect([refused.status, refused.body.error.code], refused.text).toEqual([403, "no_eligible_endpoint"]);
    }
  });

  test("ERR-13 an endpoint that policy excludes and that does not support the request either is named as such", async () => {
    const { key } = tenantOf("provider_blocked");
    const { status, body } = await scene.call(key, TOP_K.route, { ...TOP_K.body, model: "lab/plain", min_p: 0.1 });
    expect([status, body.error.code, body.error.param]).toEqual([400, "unsupported_parameter", "top_k"]);
    expect(body.error.message).toContain(
      "Policy excludes other endpoints, which do not support the request either: shut:one:lab/plain (provider_blocked: ",
    );
  });

  test("ERR-13 a refusal that only encoding reveals names what policy excludes", async () => {
    const body = {
      messages: [{ role: "user", content: "Hi" }],
      stop: ["a", "b", "c", "d", "e", "f"],
      model: "lab/six",
    };
    expect((await scene.call(tenantOf("provider_blocked").key, TOP_K.route, body)).body.error).toMatchObject({
      code: "invalid_value",
      param: "stop",
      message: expect.stringContaining("Policy excludes endpoints that may support the request: shut:one:lab/six ("),
    });
  });
});

describe("a model without the surface", () => {
  const SPEECH = ["/v1/audio/speech", { input: "Hi", voice: "ada" }] as const;
  const QUESTIONS = { q: { type: "noul", instructions: "Is it?" } };
  const DECISIONS = ["/v1/decisions", { state: "s", questions: QUESTIONS }] as const;
  let bare: TwoProviderScene;
  beforeAll(async () => {
    bare = await openTwoProviders(OTHER_MODELS);
  });
  afterAll(() => bare.close());

  test.each([
    ["other models of its providers have the surface", () => scene, ...SPEECH, 404, "model_not_found"],
    ["other models of its providers have the surface", () => scene, ...DECISIONS, 404, "model_not_found"],
    [
      "other models of its providers have the surface",
      () => scene,
      "/v1/embeddings",
      { input: "Hi" },
      404,
      "model_not_found",
    ],
    ["its providers have no such interface", () => bare, ...SPEECH, 501, "speech_not_supported"],
    ["its providers have no such interface", () => bare, ...DECISIONS, 501, "decisions_not_supported"],
  ] as const)("ERR-13 DEC-01 TTS-09 %s (%#): it gets the same error under every policy", async (...row) => {
    const [, at, route, body, status, code] = row;
    const { gateway } = at();
    const tenant = await gateway.tenant({ credit: "10" });
    for (const policy of [{}, ...RULE_NAMES.map((rule) => RULES[rule])]) {
      await gateway.manage("PATCH", `/keys/${tenant.keyId}`, { policy });
      const refused = await gateway.call(tenant.key, route, { body: { ...body, model: "lab/plain" } });
      expect([refused.status, refused.body.error.code], refused.text).toEqual([status, code]);
    }
  });
});

describe("reasoning that is turned off", () => {
  test.each([
    ["/v1/chat/completions", { messages: [{ role: "user", content: "Hi" }], reasoning_effort: "none" }],
    ["/v1/chat/completions", { messages: [{ role: "user", content: "Hi" }], reasoning: { enabled: false } }],
    ["/v1/responses", { input: "Hi", reasoning: { effort: "none" } }],
  ])("PARAM-09 is honoured without a field by a model that never reasons: %s", async (route, body) => {
    for (const model of ["lab/unthinking", "lab/unthinking-native"]) {
      const before = scene.at("open").requests.length;
      await scene.call(tenantOf("provider_blocked").key, route, { ...body, model });
      const sent = scene.at("open").requests.at(-1);
      expect(scene.at("open").requests).toHaveLength(before + 1);
      expect(Object.keys(Object(sent?.json))).not.toContain("reasoning");
      expect(Object.keys(Object(sent?.json))).not.toContain("reasoning_effort");
    }
  });

  test("PARAM-09 HDR-06 the header reports none, chosen by the caller", async () => {
    const body = { messages: [{ role: "user", content: "Hi" }], reasoning_effort: "none", model: "lab/unthinking" };
    const { status, headers } = await scene.call(tenantOf("provider_blocked").key, "/v1/chat/completions", body);
    expect([status, headers.get("x-svc-reasoning-effort")]).toEqual([200, "none"]);
    expect(headers.get("x-svc-reasoning-chosen-by")).toBe("caller");
  });

  test("PARAM-09 adaptive thinking, where the model decides, is served by a model that never reasons", async () => {
    const body = { max_tokens: 50, messages: [{ role: "user", content: "Hi" }], model: "lab/unthinking" };
    const adaptive = { ...body, thinking: { type: "adaptive" } };
    const { status } = await scene.call(tenantOf("provider_blocked").key, "/v1/messages", adaptive);
    expect(status).toBe(200);
  });

  test("PARAM-09 logprobs that are sent as false require nothing", async () => {
    const body = { messages: [{ role: "user", content: "Hi" }], model: "lab/unthinking" };
    const neutral = { ...body, logprobs: false, top_logprobs: 0 };
    expect((await scene.call(tenantOf("provider_blocked").key, "/v1/chat/completions", neutral)).status).toBe(200);
  });
});
