import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CATALOGUE_ROUTES } from "../src/contract/routes/catalogue.ts";
import { type Json, startGateway, type TestGateway } from "./support/gateway.ts";

let gateway: TestGateway;

beforeAll(async () => {
  // Connected, with an address without a listener: the lists never call a provider.
  const env = { PROVIDER_SCALEWAY_API_KEY: "planted-secret-of-scaleway", PROVIDER_OPENAI_API_KEY: "planted-secret" };
  gateway = await startGateway({ env });
});
afterAll(() => gateway.close());

const open = (where: string, headers: Record<string, string> = {}) => gateway.call("", where, { headers });
const named = (rows: Json): string[] => rows.map((row: Json) => row.id ?? row.slug ?? row.code ?? row.level);

const PUBLIC_PATHS = [
  "/v1/public/currencies",
  "/v1/public/models",
  "/v1/public/models/mistral/mistral-small-2506",
  "/v1/public/families",
  "/v1/public/families/mistral-small",
  "/v1/public/families/mistral-small/models",
  "/v1/public/model-creators",
  "/v1/public/model-creators/mistral",
  "/v1/public/providers",
  "/v1/public/providers/scaleway",
  "/v1/public/sovereignty",
  "/v1/public/capabilities",
];

describe("the public catalogue", () => {
  test.each(PUBLIC_PATHS)("PUB-01 %s answers without a key, with a tag, and 304 to that tag", async (where) => {
    const answer = await open(where);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
    expect(answer.headers.get("cache-control")).toMatch(/^public, max-age=[1-9]\d*$/);
    const tag = answer.headers.get("etag") ?? "";
    expect(tag).not.toBe("");
    const again = await open(where, { "if-none-match": tag });
    expect(again).toMatchObject({ status: 304, text: "" });
    expect(again.headers.get("etag")).toBe(tag);
  });

  test("PORTAL-07 models are filtered by input and output modality, context and price", async () => {
    const all: Json[] = (await open("/v1/public/models?limit=1000")).body.data;
    const rows = async (query: string): Promise<Json[]> =>
      (await open(`/v1/public/models?limit=1000&${query}`)).body.data;
    const speaks = ({ modalities_in, modalities_out }: Json, one: string) =>
      [...modalities_in, ...modalities_out].includes(one);
    expect(named(await rows("modality=text,image"))).toEqual(
      named(all.filter((model) => speaks(model, "text") && speaks(model, "image"))),
    );
    const wide = await rows("context_min=200000");
    expect(named(wide)).toEqual(named(all.filter(({ context_tokens }) => context_tokens >= 200_000)));
    const priceOf = ({ lowest_price: price }: Json) =>
      Number(price.input_per_1m_tokens) + Number(price.output_per_1m_tokens);
    const cheap = await rows("price_max=1.5&currency=USD");
    expect(cheap.length).toBeGreaterThan(0);
    expect(cheap.length).toBeLessThan(all.length);
    for (const model of cheap) expect(priceOf(model)).toBeLessThanOrEqual(1.5 + 1e-6);
    // A euro is worth more than a dollar: the same number admits more models.
    expect((await rows("price_max=1.5")).length).toBeGreaterThanOrEqual(cheap.length);
    for (const query of ["modality=smell", "context_min=x", "price_max=-1"])
      expect((await open(`/v1/public/models?${query}`)).status).toBe(400);
  });

  test("PUB-01 there are twelve of them and all are in the table above", () => {
    const open = CATALOGUE_ROUTES.filter(({ access }) => access.by === "anyone");
    expect(open).toHaveLength(PUBLIC_PATHS.length);
    for (const { path: route } of open) {
      const pattern = new RegExp(`^${route.replace("{slug+}", ".+").replace("{slug}", "[^/]+")}$`);
      expect(PUBLIC_PATHS.filter((where) => pattern.test(where))).not.toEqual([]);
    }
  });

  test.each(PUBLIC_PATHS.filter((where) => !/small-2506$|-small$|mistral$|scaleway$/.test(where)))(
    "PUB-01 %s has the same rows in pages by limit and cursor",
    async (where) => {
      const whole = named((await open(`${where}?limit=1000`)).body.data);
      const seen: string[] = [];
      let next: string | null = null;
      do {
        const { body } = await open(
          `${where}?limit=${Math.ceil(whole.length / 3)}${next === null ? "" : `&cursor=${next}`}`,
        );
        seen.push(...named(body.data));
        next = body.next;
      } while (next !== null && seen.length <= whole.length);
      expect(seen).toEqual(whole);
      expect((await open(`${where}?limit=${whole.length}`)).body.next).toBeNull();
    },
  );

  test.each([
    ["creator=mistral", (row: Json) => row.creator === "mistral"],
    ["family=gpt", (row: Json) => row.family === "gpt"],
    ["provider=scaleway", (row: Json) => row.endpoints.every((one: Json) => one.provider === "scaleway")],
    ["capability=tools", (row: Json) => row.capabilities.includes("tools")],
    ["surface=embeddings", (row: Json) => row.endpoints.every((one: Json) => one.surfaces.includes("embeddings"))],
    ["level=L3", (row: Json) => row.endpoints.every((one: Json) => one.level === "L3")],
    ["country=FR", (row: Json) => row.endpoints.every((one: Json) => one.countries.includes("FR"))],
    ["q=mistral", (row: Json) => JSON.stringify([row.id, row.name, row.creator]).toLowerCase().includes("mistral")],
  ])("PUB-01 the filter %s returns matching models, and fewer than all", async (query, holds) => {
    const rows = (await open(`/v1/public/models?limit=1000&${query}`)).body.data;
    const all = (await open("/v1/public/models?limit=1000")).body.data;
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.length).toBeLessThan(all.length);
    expect(rows.every(holds)).toBe(true);
  });

  test("PUB-01 sort orders, and an invalid parameter or value is refused by name", async () => {
    const rows = (await open("/v1/public/models?limit=1000&sort=-created")).body.data;
    const dates = rows.map((row: Json) => row.release_date).filter((date: string | null) => date !== null);
    expect(dates).toEqual(dates.toSorted().toReversed());
    for (const [query, param, code] of [
      ["sort=colour", "sort", "invalid_value"],
      ["level=L7", "level", "invalid_value"],
      ["currency=XXX", "currency", "invalid_value"],
      ["limit=0", "limit", "invalid_value"],
      ["colour=red", "colour", "unsupported_parameter"],
    ]) {
      const { status, body } = await open(`/v1/public/models?${query}`);
      expect(status).toBe(400);
      expect(body.error).toMatchObject({ param, code, type: "invalid_request_error" });
    }
  });

  test("PUB-01 name lists sort by name or slug, both ways, and every short list can be searched", async () => {
    const rows = async (list: string, query: string) =>
      named((await open(`/v1/public/${list}?limit=1000&${query}`)).body.data);
    const slugs = await rows("providers", "sort=slug");
    expect(slugs).toEqual(slugs.toSorted());
    expect(await rows("providers", "sort=-slug")).toEqual(slugs.toReversed());
    // "Amazon Bedrock" sorts before "Anthropic", and its slug after.
    const byName = await rows("providers", "sort=name");
    expect(byName.indexOf("aws-bedrock")).toBe(byName.indexOf("anthropic") - 1);
    expect(await rows("currencies", "q=swiss")).toEqual(["CHF"]);
    expect(await rows("sovereignty", "q=eea+soil")).toEqual(["L1"]);
    expect(await rows("capabilities", "q=mouse")).toEqual(["computer_use"]);
  });

  test("PUB-01 nothing public shows which providers are connected", async () => {
    const bare = await startGateway();
    try {
      for (const where of PUBLIC_PATHS) {
        const [here, there] = [await open(where), await bare.call("", where)];
        expect(here.text).toBe(there.text);
        expect(here.text).not.toContain("planted-secret");
      }
    } finally {
      await bare.close();
    }
  });

  test("PUB-02 prices are shown in every currency of /public/currencies", async () => {
    const currencies = named((await open("/v1/public/currencies")).body.data);
    expect(currencies.length).toBeGreaterThan(10);
    for (const currency of currencies) {
      const { body } = await open(`/v1/public/models?limit=1000&currency=${currency}`);
      const prices = body.data.flatMap((row: Json) => row.endpoints.map((one: Json) => one.price));
      const known = prices.filter((price: Json) => price !== null);
      expect(known.length).toBeGreaterThan(300);
      for (const price of known) expect(price.currency).toBe(currency);
    }
    const { body } = await open("/v1/public/models/mistral/mistral-small-2506?currency=CHF&provider=");
    expect(body.error.param).toBe("provider");
    const shown = (await open("/v1/public/models/mistral/mistral-small-2506?currency=CHF")).body.endpoints;
    const scaleway = shown.find((one: Json) => one.provider === "scaleway").price;
    // 0.15 EUR at 0.946769 francs per euro
    expect(scaleway).toMatchObject({
      input_per_1m_tokens: "0.14201535",
      converted: { from: "EUR", rate: "0.946769", rate_date: "2026-09-29" },
    });
    const { endpoints } = (await open("/v1/public/providers/scaleway?currency=CHF")).body;
    const ofProvider = endpoints.find(({ model }: Json) => model === "mistral/mistral-small-2506");
    expect(ofProvider.price).toEqual(scaleway);
  });

  test("PUB-03 each provider endpoint shows level, countries, retention, training and the evidence for its level", async () => {
    const rows = (await open("/v1/public/models?limit=1000")).body.data;
    const endpoints = rows.flatMap((row: Json) => row.endpoints);
    expect(endpoints.length).toBeGreaterThan(350);
    for (const endpoint of endpoints) {
      expect(["L0", "L1", "L2", "L3", "L4", "UNCLASSIFIED"]).toContain(endpoint.level);
      expect(endpoint.level_reason).toEqual(expect.any(String));
      expect(endpoint.countries).toEqual(expect.any(Array));
      expect(["yes", "no", "on_request", "unknown"]).toContain(endpoint.zero_data_retention);
      expect(["yes", "no", "unknown"]).toContain(endpoint.trains_on_data);
    }
    const { body } = await open("/v1/public/providers/scaleway");
    expect(body.evidence.length).toBeGreaterThan(3);
    for (const endpoint of body.endpoints)
      expect(endpoint.criteria.map(({ evidence }: Json) => evidence)).toEqual(
        Array(5).fill(
          expect.objectContaining({
            claim: expect.any(String),
            status: expect.stringMatching(/^(verified|claimed|doubtful)$/),
            url: expect.stringMatching(/^https:/),
            kind: expect.any(String),
            read: expect.stringMatching(/^\d{4}-/),
            stale: expect.any(Boolean),
          }),
        ),
      );
    expect(body.endpoints[0]).toMatchObject({
      level: "L3",
      countries: ["FR"],
      zero_data_retention: "yes",
      trains_on_data: "no",
    });
  });

  test("PUB-04 the six levels have their meanings, and svc_capabilities uses the taxonomy", async () => {
    const levels = (await open("/v1/public/sovereignty")).body.data;
    expect(levels.map((row: Json) => [row.level, row.meaning])).toEqual([
      ["L0", "Served under third-country law, outside EU/EEA guarantees"],
      ["L1", "Inference runs on EU/EEA soil"],
      ["L2", "EU/EEA operation plus certification"],
      ["L3", "EU/EEA ownership and control of the serving operator"],
      ["L4", "Full sovereignty, no exceptions"],
      ["UNCLASSIFIED", "Not yet assessed (a data-quality state, not a rung)"],
    ]);
    const taxonomy = new Set(named((await open("/v1/public/capabilities")).body.data));
    const { key } = await gateway.tenant();
    const models = (await gateway.call(key, "/v1/models")).body.data;
    const used = new Set<string>(models.flatMap((row: Json) => row.svc_capabilities));
    expect(used.size).toBeGreaterThan(5);
    expect([...used].filter((slug) => !taxonomy.has(slug))).toEqual([]);
  });
});

describe("the models of a key", () => {
  test("MOD-01 only callable models are listed, in the dialect's shape, with their surfaces", async () => {
    const { key } = await gateway.tenant();
    const { status, body } = await gateway.call(key, "/v1/models");
    expect(status).toBe(200);
    expect(body.object).toBe("list");
    const ids = named(body.data);
    expect(ids).toEqual(expect.arrayContaining(["sandbox/chat", "mistral/mistral-small-2506", "openai/gpt-5"]));
    // not connected; connected without a known price; hidden
    expect(ids).not.toContain("anthropic/claude-opus-5-5");
    expect(ids).not.toContain("sandbox/fail-500");
    for (const row of body.data) {
      expect(row).toMatchObject({ object: "model", created: expect.any(Number), owned_by: expect.any(String) });
      const chats = row.svc_surfaces.includes("chat");
      if (chats) expect(row.svc_surfaces).toEqual(expect.arrayContaining(["chat", "messages", "responses"]));
      else expect(row.svc_surfaces).not.toEqual([]);
    }
    expect((await gateway.call(key, "/models")).body).toEqual(body);
  });

  test("MOD-01 a model is listed on a surface exactly when a call of it reaches a provider", async () => {
    const { key } = await gateway.tenant();
    for (const { id: model, svc_surfaces: surfaces } of (await gateway.call(key, "/v1/models?q=sandbox")).body.data) {
      const chat = { model, messages: [{ role: "user", content: "hi" }] };
      const chatted = await gateway.call(key, "/v1/chat/completions", { body: chat });
      expect(chatted.status).toBe(surfaces.includes("chat") ? 200 : 404);
      const embedded = await gateway.call(key, "/v1/embeddings", { body: { model, input: "hi" } });
      expect(embedded.status).toBe(surfaces.includes("embeddings") ? 200 : 404);
    }
    const body = { model: "anthropic/claude-opus-5-5", messages: [{ role: "user", content: "hi" }] };
    const refused = await gateway.call(key, "/v1/chat/completions", { body });
    expect(refused).toMatchObject({ status: 404, body: { error: { code: "model_not_found" } } });
  });

  test("MOD-01 the workspace's policy and permissions are applied at once", async () => {
    const { key, slug } = await gateway.tenant();
    const list = async () => (await gateway.call(key, "/v1/models")).body.data;
    const policy = (change: Json) => gateway.manage("PATCH", `/workspaces/${slug}/policy`, change);
    await policy({ floor: "L3" });
    const high = await list();
    expect(named(high)).not.toContain("openai/gpt-5");
    for (const row of high) expect(row.svc_levels).toEqual(["L3"]);
    await policy({ floor: null, blocked_providers: ["scaleway"] });
    for (const row of await list()) expect(row.svc_providers).not.toContain("scaleway");
    await policy({ blocked_providers: [], allowed_models: ["sandbox/chat"] });
    expect(named(await list())).toEqual(["sandbox/chat"]);
    expect((await gateway.call(key, "/v1/models/openai/gpt-5")).body.error.code).toBe("model_not_permitted");
  });

  test("MOD-01 one model is read by an id with slashes, plain or encoded", async () => {
    const { key } = await gateway.tenant();
    const plain = await gateway.call(key, "/v1/models/sandbox/chat");
    expect(plain).toMatchObject({ status: 200, body: { id: "sandbox/chat", object: "model", svc_sandbox: true } });
    expect((await gateway.call(key, "/v1/models/sandbox%2Fchat")).body).toEqual(plain.body);
    const { release_date } = (await open("/v1/public/models/mistral/mistral-small-2506")).body;
    expect((await gateway.call(key, "/v1/models/mistral/mistral-small-2506")).body).toMatchObject({
      created: Date.parse(release_date) / 1000,
      created_at: new Date(release_date).toISOString(),
      owned_by: "mistral",
    });
    expect((await gateway.call(key, "/v1/models/missing/model")).body.error).toMatchObject({
      code: "model_not_found",
    });
  });

  test("MOD-02 one body serves chat pickers, the messages dialect and coding agents", async () => {
    const { key } = await gateway.tenant();
    const headers = { "anthropic-version": "2023-06-01" };
    const { body } = await gateway.call(key, "/v1/models?limit=1000&client_version=0.166.0", { headers });
    for (const row of body.data) {
      expect(row.svc_capabilities.every((slug: unknown) => typeof slug === "string")).toBe(true);
      expect(row).toMatchObject({
        type: "model",
        display_name: expect.any(String),
        created_at: expect.stringMatching(/Z$/),
      });
      if (!row.svc_surfaces.includes("speech")) expect(row).not.toHaveProperty("svc_max_input_chars");
    }
    expect(body).toMatchObject({ has_more: false, first_id: body.data[0].id, last_id: body.data.at(-1).id });
    const chatting = body.data.filter(({ svc_surfaces: surfaces }: Json) => surfaces.includes("chat"));
    expect(body.models.map((row: Json) => row.slug)).toEqual(named(chatting));
    expect(body.models[0]).toMatchObject({
      visibility: "list",
      supported_in_api: true,
      context_window: expect.any(Number),
    });
  });

  test("MOD-02 the list has a separate ETag for each set of permissions", async () => {
    const { key, slug } = await gateway.tenant();
    const first = await gateway.call(key, "/v1/models");
    const headers = { "if-none-match": first.headers.get("etag") ?? "" };
    expect(await gateway.call(key, "/v1/models", { headers })).toMatchObject({ status: 304, text: "" });
    await gateway.manage("PATCH", `/workspaces/${slug}/policy`, { floor: "L3" });
    expect((await gateway.call(key, "/v1/models", { headers })).status).toBe(200);
  });

  test("MOD-02 prices are in the workspace's currency", async () => {
    const { key } = await gateway.tenant({ currency: "USD" });
    const rows = (await gateway.call(key, "/v1/models")).body.data;
    const byTokens = rows.filter(({ svc_surfaces: surfaces }: Json) =>
      ["chat", "embeddings"].some((surface) => surfaces.includes(surface)),
    );
    expect(byTokens.length).toBeGreaterThan(0);
    for (const row of byTokens)
      expect(row.pricing).toMatchObject({ currency: "USD", input_per_1m_tokens: expect.any(String) });
  });
});

test("an invalid catalogue stops the start and names file and field", async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), "catalogue-"));
  try {
    const env = { GATEWAY_CATALOGUE_DIR: folder };
    await expect(startGateway({ env })).rejects.toThrow(/is not a catalogue/);
    await mkdir(path.join(folder, "providers"));
    await writeFile(path.join(folder, "providers/acme.json"), JSON.stringify({ slug: "acme", name: 7 }));
    await expect(startGateway({ env })).rejects.toThrow(/providers\/acme\.json name: must be a string/);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
