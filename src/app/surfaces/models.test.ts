import path from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { type Ask, ask, principalWith, refusal } from "../../../tests/support/catalogue-handlers.ts";
import { ALL_PROVEN } from "../../../tests/support/proofs.ts";
import { NOON_MS } from "../../../tests/support/small-catalogue.ts";
import { CATALOGUE_ROUTES } from "../../contract/routes/catalogue.ts";
import { AgentModel, ModelList, ModelObject } from "../../contract/schemas/models.ts";
import { SURFACES, type Surface } from "../../contract/surfaces.ts";
import type { CatalogueSnapshot, ProviderConnections } from "../../domain/catalogue/catalogue.ts";
import { loadCatalogue } from "../../domain/catalogue/load.ts";
import { excludedByPolicy, permitsModel } from "../../domain/routing/policy.ts";
import { catalogueFiles } from "../../io/catalogue-files.ts";
import { type ModelDeps, modelHandlers } from "./models.ts";

const ROOT = path.resolve(import.meta.dirname, "../../..");
let snapshot: CatalogueSnapshot;

beforeAll(async () => {
  const folders = [path.join(ROOT, "catalogue"), path.join(ROOT, "src/sandbox/catalogue")];
  const loaded = await loadCatalogue(folders, NOON_MS, catalogueFiles);
  if ("problems" in loaded) throw new Error(JSON.stringify(loaded.problems));
  snapshot = loaded.snapshot;
});

function connectedTo(...providers: string[]): ProviderConnections {
  return {
    hasRealProvider: true,
    credential: (provider) => (providers.includes(provider) ? { kind: "bearer", token: "t" } : undefined),
    baseUrl: (endpoint) => endpoint.baseUrl ?? undefined,
  };
}

function handlersWith(connections: ProviderConnections, more: Partial<ModelDeps> = {}) {
  return modelHandlers({
    snapshotOf: () => snapshot,
    nowMs: () => NOON_MS,
    proofs: ALL_PROVEN,
    connectionsOf: () => connections,
    allows: (endpoint, policy) => excludedByPolicy(endpoint, policy) === undefined,
    permits: permitsModel,
    servedSurfaces: ["chat"],
    ...more,
  });
}

const french = () => handlersWith(connectedTo("scaleway", "openai", "privatemode", "azure", "groq"));

async function listed(response: Omit<Ask, "id">, handlers = french()) {
  const { body } = await ask(handlers, { id: "listModels", principal: principalWith(), ...response });
  return { body, ids: body.data.map(({ id }: { id: string }) => id) };
}

describe("the list of models", () => {
  test("lists callable models only: connected, priced, with an address, not retired, on a served surface", async () => {
    const { ids } = await listed({});
    expect(ids).toContain("mistral/mistral-small-2506");
    expect(ids).toContain("openai/gpt-5");
    // connected, but its only price there is not known / its address has a placeholder / it is retired
    expect((await listed({}, handlersWith(connectedTo("privatemode")))).ids).toEqual([]);
    expect((await listed({}, handlersWith(connectedTo("azure")))).ids).toEqual([]);
    expect((await listed({}, handlersWith(connectedTo("groq")))).ids).not.toContain("meta/llama-3.3-70b-instruct");
    expect(ids).not.toContain("anthropic/claude-opus-5-5");
    expect(ids).not.toContain("openai/text-embedding-3-small");
  });

  test("lists models by served surface and names the surfaces", async () => {
    const handlers = handlersWith(connectedTo("openai"), { servedSurfaces: ["chat", "messages", "embeddings"] });
    const { body } = await listed({}, handlers);
    const surfaces = new Map(
      body.data.map((row: { id: string; svc_surfaces: string[] }) => [row.id, row.svc_surfaces]),
    );
    expect(surfaces.get("openai/gpt-5")).toEqual(["chat", "messages"]);
    expect(surfaces.get("openai/text-embedding-3-small")).toEqual(["embeddings"]);
  });

  test("omits models and endpoints that the workspace's policy excludes", async () => {
    const under = async (policy: Parameters<typeof principalWith>[0]) => listed({ principal: principalWith(policy) });
    expect((await under({ floor: "L3" })).ids).not.toContain("openai/gpt-5");
    const { body } = await under({ floor: "L3" });
    for (const model of body.data)
      expect(model).toMatchObject({ svc_levels: ["L3"], svc_providers: ["scaleway"], svc_countries: ["FR"] });
    expect((await under({ blockedProviders: ["openai"] })).ids).not.toContain("openai/gpt-5");
    expect((await under({ countries: ["DE"] })).ids).toEqual([]);
    expect((await under({ allowedModels: ["openai/gpt-5"] })).ids).toEqual(["openai/gpt-5"]);
  });

  test("omits hidden models", async () => {
    const { ids } = await listed({}, handlersWith(connectedTo("sandbox-us", "sandbox-de", "sandbox-fr")));
    expect(ids).toContain("sandbox/chat");
    expect(ids).not.toContain("sandbox/fail-500");
  });

  test("MOD-02 one body serves OpenAI, Anthropic and Codex clients", async () => {
    const { body, ids } = await listed({ query: "client_version=0.166.0" });
    expect(ModelList.parse(body)).toEqual(body);
    expect(body.object).toBe("list");
    for (const model of body.data)
      expect(model).toMatchObject({
        object: "model",
        type: "model",
        created: expect.any(Number),
        owned_by: expect.any(String),
        display_name: expect.any(String),
      });
    expect(body).toMatchObject({ has_more: false, first_id: ids[0], last_id: ids.at(-1) });
    expect(body.models.map(({ slug }: { slug: string }) => slug)).toEqual(ids);
    for (const model of body.models) {
      expect(AgentModel.parse(model)).toEqual(model);
      expect(model.base_instructions).not.toBe("");
    }
  });

  test("MOD-02 tells coding agents the context window, reasoning, images and parallel tool calls", async () => {
    const { body } = await listed({ query: "client_version=0.166.0" });
    const agent = (slug: string) => body.models.find((model: AgentModel) => model.slug === slug);
    const gpt = body.data.find(({ id }: { id: string }) => id === "openai/gpt-5");
    expect(agent("openai/gpt-5")).toMatchObject({
      context_window: gpt.context_length,
      default_reasoning_level: "medium",
      supported_reasoning_levels: [{ effort: "low" }, { effort: "medium" }, { effort: "high" }],
      // Its endpoint speaks the responses dialect itself.
      supports_reasoning_summary_parameter: true,
      input_modalities: ["text", "image"],
    });
    // Only a model that is known to take the word is response to.
    expect(agent("openai/gpt-5.2").supported_reasoning_levels.at(-1)).toMatchObject({ effort: "xhigh" });
    // Some models know a word above the last of the list.
    expect(agent("openai/gpt-5.6-sol").supported_reasoning_levels.at(-1)).toEqual({
      effort: "xhigh",
      description: "Longer thinking for the hardest problems",
    });
    expect(agent("mistral/mistral-small-2506")).toMatchObject({
      default_reasoning_level: null,
      supported_reasoning_levels: [],
      supports_reasoning_summaries: false,
      supports_reasoning_summary_parameter: false,
    });
    expect(gpt).toMatchObject({ max_tokens: gpt.max_output_tokens, max_input_tokens: expect.any(Number) });
    expect(gpt.max_input_tokens).toBeLessThanOrEqual(gpt.context_length);
  });

  test("shows prices in the workspace's currency", async () => {
    const price = async (currency: string) => {
      const { body } = await listed({ principal: principalWith({}, currency) });
      return body.data.find(({ id }: { id: string }) => id === "mistral/mistral-small-2506").pricing;
    };
    expect(await price("EUR")).toMatchObject({ currency: "EUR", input_per_1m_tokens: "0.15", converted: null });
    expect(await price("USD")).toMatchObject({ currency: "USD", converted: { from: "EUR" } });
    expect((await listed({ principal: principalWith({}, "XTS") })).ids).toEqual([]);
  });

  test("returns the whole list, or pages by cursor or last id", async () => {
    const { ids } = await listed({});
    expect(ids.length).toBeGreaterThan(20);
    const first = await listed({ query: "limit=10" });
    expect(first.body.has_more).toBe(true);
    const byCursor = await listed({ query: `limit=10&cursor=${first.body.next}` });
    const byId = await listed({ query: `limit=10&after_id=${first.body.last_id}` });
    expect(first.ids).toEqual(ids.slice(0, 10));
    expect(byCursor.ids).toEqual(ids.slice(10, 20));
    expect(byId.ids).toEqual(ids.slice(10, 20));
  });

  test("MOD-02 pages backwards by before_id", async () => {
    const { ids } = await listed({});
    const back = await listed({ query: `limit=8&before_id=${ids[20]}` });
    expect([back.ids, back.body.has_more, back.body.next]).toEqual([ids.slice(12, 20), true, null]);
    expect([back.body.first_id, back.body.last_id]).toEqual([ids[12], ids[19]]);
    const seen = [...back.ids];
    for (let page = back; page.body.has_more; ) {
      page = await listed({ query: `limit=8&before_id=${page.body.first_id}` });
      seen.unshift(...page.ids);
    }
    expect(seen).toEqual(ids.slice(0, 20));
    expect((await listed({ query: `before_id=${ids[3]}` })).ids).toEqual(ids.slice(0, 3));
    expect((await listed({ query: `before_id=${ids[0]}` })).body).toMatchObject({ data: [], has_more: false });
    for (const query of [
      "before_id=unknown/model",
      `before_id=${ids[3]}&after_id=${ids[1]}`,
      `before_id=${ids[3]}&cursor=x`,
    ]) {
      const bad = { id: "listModels", principal: principalWith(), query };
      expect(await refusal(french(), bad)).toMatchObject({ code: "invalid_value", param: "before_id" });
    }
  });

  test("ignores unknown parameters and refuses invalid values of known ones", async () => {
    expect((await listed({ query: "client_version=0.166.0&limit=1000&beta=true" })).ids).toEqual(
      (await listed({})).ids,
    );
    const bad = { id: "listModels", principal: principalWith(), query: "level=L9" };
    expect(await refusal(french(), bad)).toMatchObject({ code: "invalid_value", param: "level" });
  });

  test("MOD-01 a filter selects models and does not change what is shown of each", async () => {
    const whole = await listed({});
    const chosen = await listed({ query: "provider=scaleway&capability=tools&sort=price" });
    expect(chosen.ids.length).toBeGreaterThan(2);
    const rows = new Map<string, ModelObject>(whole.body.data.map((model: ModelObject) => [model.id, model]));
    for (const model of chosen.body.data) {
      expect(model).toEqual(rows.get(model.id));
      expect(model.svc_providers).toContain("scaleway");
      expect(model.svc_capabilities).toContain("tools");
    }
    const both = handlersWith(connectedTo("scaleway", "nebius"));
    const one = (await listed({ query: "provider=scaleway" }, both)).body.data.find(
      ({ id }: ModelObject) => id === "openai/gpt-oss-120b",
    );
    expect(one.svc_providers).toEqual(["nebius", "scaleway"]);
  });

  test("MOD-01 a filtered list sorted by price follows the shown prices", async () => {
    const handlers = handlersWith(connectedTo("scaleway", "nebius"));
    const { body } = await listed({ query: "provider=scaleway&sort=price" }, handlers);
    const prices = body.data.map(
      ({ pricing }: ModelObject) => Number(pricing?.input_per_1m_tokens) + Number(pricing?.output_per_1m_tokens),
    );
    expect(prices.length).toBeGreaterThan(5);
    expect(prices).toEqual(prices.toSorted((a: number, b: number) => a - b));
  });

  test("MOD-01 the surface filter lists callable models, with proof where one is required", async () => {
    const proven = "openai:global:openai/gpt-4o";
    const proofs = { ...ALL_PROVEN, isProven: ({ id }: { id: string }) => id === proven };
    const on = async (surface: string, more: Partial<ModelDeps>) =>
      (await listed({ query: `surface=${surface}` }, handlersWith(connectedTo("openai"), { proofs, ...more }))).ids;
    expect(await on("decisions", { servedSurfaces: SURFACES })).toEqual(["openai/gpt-4o"]);
    expect(await on("speech", { servedSurfaces: SURFACES })).toEqual([]);
    expect(await on("decisions", { servedSurfaces: ["chat"] })).toEqual([]);
    expect(await on("decisions,chat", { servedSurfaces: ["chat"] })).toContain("openai/gpt-4.1");
  });

  test("MOD-02 capabilities are limited to the key's surfaces and endpoints", async () => {
    const handlers = (servedSurfaces: readonly Surface[], ...providers: string[]) =>
      handlersWith(connectedTo(...providers), { servedSurfaces });
    const capabilities = async (id: string, from: ReturnType<typeof handlersWith>) =>
      (await ask(from, { id: "getModel", params: { id }, principal: principalWith() })).body.svc_capabilities;
    const glm = "zhipuai/glm-5.2";
    expect(snapshot.models.get(glm)?.capabilities).toEqual(expect.arrayContaining(["decisions", "prompt_caching"]));
    const chat = await capabilities(glm, handlers(["chat"], "scaleway"));
    expect(chat).toContain("tools");
    // Scaleway declares no prompt caching; decisions are not served here.
    expect(chat).not.toContain("prompt_caching");
    expect(chat).not.toContain("decisions");
    expect(await capabilities(glm, handlers(SURFACES, "scaleway"))).toContain("decisions");
    expect(await capabilities(glm, handlers(["chat"], "scaleway", "together"))).toContain("prompt_caching");
    expect(await capabilities("openai/whisper-large-v3", handlers(SURFACES, "groq"))).toContain("transcription");
    expect(await capabilities("openai/gpt-oss-120b", handlers(SURFACES, "groq"))).not.toContain("logprobs");
    const { ids } = await listed({ query: "capability=prompt_caching" }, handlers(["chat"], "scaleway"));
    expect(ids).not.toContain(glm);
    const all = await listed({ query: "capability=decisions" }, handlers(["chat"], "scaleway"));
    expect(all.ids).toEqual([]);
  });

  test("MOD-02 only known countries are listed, not assumed ones", async () => {
    const one = await ask(french(), { id: "getModel", params: { id: "openai/gpt-5" }, principal: principalWith() });
    expect(one.body).toMatchObject({ svc_providers: ["openai"], svc_countries: [] });
    expect((await listed({ query: "country=US" })).ids).not.toContain("openai/gpt-5");
    expect((await listed({ query: "country=FR" })).ids).toContain("mistral/mistral-small-2506");
    const unknown = { id: "listModels", principal: principalWith(), query: "country=SG" };
    expect(await refusal(french(), unknown)).toMatchObject({ code: "invalid_value", param: "country" });
  });

  test("returns 304 while unchanged, and only private caches may store it", async () => {
    const call = (response: Partial<Ask>) =>
      ask(french(), { id: "listModels", principal: principalWith(), ...response });
    const first = await call({});
    expect(first.headers).toMatchObject({ "cache-control": "private, no-cache", "content-type": "application/json" });
    const headers = { "if-none-match": first.headers["etag"] ?? "" };
    expect((await call({ headers })).status).toBe(304);
    expect((await call({ headers, principal: principalWith({ floor: "L3" }) })).status).toBe(200);
  });
});

describe("one model", () => {
  const get = (id: string, policy = {}) => ({ id: "getModel", params: { id }, principal: principalWith(policy) });

  test("is the same object as in the list", async () => {
    const { body } = await listed({});
    const one = await ask(french(), get("mistral/mistral-small-2506"));
    expect(ModelObject.parse(one.body)).toEqual(one.body);
    expect(one.body).toEqual(body.data.find(({ id }: { id: string }) => id === "mistral/mistral-small-2506"));
  });

  test("that is unknown or not connected is 404 with the reason", async () => {
    const unknown = await refusal(french(), get("unknown/model"));
    expect(unknown).toMatchObject({
      status: 404,
      code: "model_not_found",
      message: expect.stringContaining("unknown/model"),
    });
    const away = await refusal(french(), get("anthropic/claude-opus-5-5"));
    expect(away).toMatchObject({
      status: 404,
      code: "model_not_found",
      message: expect.stringContaining("no connected provider"),
    });
  });

  test("that the policy forbids is 403; one without an allowed endpoint is 404", async () => {
    expect(
      await refusal(french(), get("openai/gpt-5", { allowedModels: ["mistral/mistral-small-2506"] })),
    ).toMatchObject({
      status: 403,
      code: "model_not_permitted",
    });
    expect(await refusal(french(), get("openai/gpt-5", { floor: "L3" }))).toMatchObject({
      status: 404,
      message: expect.stringContaining("policy"),
    });
  });
});

test.each(CATALOGUE_ROUTES.filter(({ access }) => access.by === "key").map((route) => ({ id: route.id, route })))(
  "the example of $id fits its schema",
  ({ route }) => {
    if (route.answer.is !== "json") throw new Error("not JSON");
    expect(route.answer.schema.parse(route.example?.answer)).toEqual(route.example?.answer);
  },
);
