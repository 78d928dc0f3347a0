import path from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { type Answer, ask, refusal } from "../../../tests/support/catalogue-handlers.ts";
import { firstEndpoint, memoryFiles, NOON_MS } from "../../../tests/support/small-catalogue.ts";
import { CATALOGUE_ROUTES } from "../../contract/routes/catalogue.ts";
import { LevelValue, SurfaceValue } from "../../contract/schemas/catalogue-values.ts";
import { SURFACES } from "../../contract/surfaces.ts";
import type { CatalogueSnapshot } from "../../domain/catalogue/catalogue.ts";
import { loadCatalogue } from "../../domain/catalogue/load.ts";
import { LEVELS } from "../../domain/tenancy/policy.ts";
import { catalogueFiles } from "../../io/catalogue-files.ts";
import type { Handler } from "../exchange.ts";
import { catalogueHandlers } from "./catalogue.ts";

const ROOT = path.resolve(import.meta.dirname, "../../..");
let snapshot: CatalogueSnapshot;
let handlers: Record<string, Handler>;

async function load(folders: string[], files = catalogueFiles): Promise<CatalogueSnapshot> {
  const loaded = await loadCatalogue(folders, NOON_MS, files);
  if ("problems" in loaded) throw new Error(JSON.stringify(loaded.problems));
  return loaded.snapshot;
}

beforeAll(async () => {
  snapshot = await load([path.join(ROOT, "catalogue"), path.join(ROOT, "src/sandbox/catalogue")]);
  handlers = catalogueHandlers({ snapshot: () => snapshot, nowMs: () => NOON_MS });
});

const list = (query: string, id = "listPublicModels") => ask(handlers, { id, query });
const ids = (answer: Answer): string[] => answer.body.data.map((row: { id: string }) => row.id);

describe("every route of the catalogue", () => {
  const PARAMS: Record<string, string> = {
    getPublicModel: "mistral/mistral-small-2506",
    getPublicFamily: "mistral-small",
    listPublicFamilyModels: "mistral-small",
    getPublicModelCreator: "mistral",
    getPublicProvider: "scaleway",
  };
  const open = CATALOGUE_ROUTES.filter(({ access }) => access.by === "anyone");

  test("there are twelve of them", () => {
    expect(open).toHaveLength(12);
  });

  test.each(open.map((route) => ({ id: route.id, route })))(
    "$id answers what its schema says, and so does its example",
    async ({ id, route }) => {
      const answer = await ask(handlers, { id, params: { slug: PARAMS[id] ?? "" } });
      if (route.answer.is !== "json") throw new Error("not JSON");
      expect(answer.status).toBe(200);
      expect(route.answer.schema.parse(answer.body)).toEqual(answer.body);
      expect(route.answer.schema.parse(route.example?.answer)).toEqual(route.example?.answer);
      expect(answer.headers).toMatchObject({
        etag: expect.stringMatching(/^"\w+"$/),
        "cache-control": expect.any(String),
      });
    },
  );

  test.each(open.map(({ id }) => id))("%s refuses a parameter it does not know and names those it does", async (id) => {
    const found = await refusal(handlers, { id, params: { slug: PARAMS[id] ?? "" }, query: "colour=red" });
    expect(found).toMatchObject({ code: "unsupported_parameter", param: "colour" });
  });

  test.each([
    "getPublicModel",
    "getPublicFamily",
    "listPublicFamilyModels",
    "getPublicModelCreator",
    "getPublicProvider",
  ])("%s of an unknown record is 404", async (id) => {
    expect(await refusal(handlers, { id, params: { slug: "unknown-slug" } })).toMatchObject({
      status: 404,
      code: "not_found",
    });
  });

  test("the contract's levels and surfaces are the domain's", () => {
    expect(LevelValue.options).toEqual([...LEVELS, "UNCLASSIFIED"]);
    expect(SurfaceValue.options).toEqual([...SURFACES]);
  });
});

describe("paging", () => {
  test("pages have no gaps or duplicates and keep the requested order", async () => {
    const whole = ids(await list("limit=1000&sort=-context"));
    const seen: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const answer: Answer = await list(`limit=37&sort=-context${cursor === "" ? "" : `&cursor=${cursor}`}`);
      seen.push(...ids(answer));
      cursor = answer.body.next;
    }
    expect(whole.length).toBeGreaterThan(150);
    expect(seen).toEqual(whole);
  });

  test("the default page size is 100", async () => {
    expect((await list("")).body.data).toHaveLength(100);
  });

  test("a cursor of another list or order, or an invalid cursor, is refused", async () => {
    const { next } = (await list("limit=1&sort=name")).body;
    for (const query of [`limit=1&sort=-name&cursor=${next}`, `cursor=${next}`, "cursor=abc"])
      expect(await refusal(handlers, { id: "listPublicModels", query })).toMatchObject({
        code: "invalid_value",
        param: "cursor",
      });
    expect(await refusal(handlers, { id: "listPublicProviders", query: `cursor=${next}` })).toMatchObject({
      param: "cursor",
    });
  });

  test.each(["0", "1001", "ten", "1.5", "-1", ""])("limit=%s is refused", async (limit) => {
    expect(await refusal(handlers, { id: "listPublicModels", query: `limit=${limit}` })).toMatchObject({
      code: "invalid_value",
      param: "limit",
    });
  });
});

describe("filters", () => {
  test("PUB-01 countries are matched in either case", async () => {
    const upper = await list("country=FR,DE&limit=1000");
    expect(upper.body.data.length).toBeGreaterThan(5);
    expect((await list("country=fr,de&limit=1000")).body.data).toEqual(upper.body.data);
    expect(await refusal(handlers, { id: "listPublicModels", query: "country=xx" })).toMatchObject({
      param: "country",
    });
  });

  test("endpoint filters must all match one endpoint, and only matching endpoints are shown", async () => {
    const { body } = await list("provider=scaleway,mistral&level=L3&country=FR&surface=chat&limit=1000");
    expect(body.data.length).toBeGreaterThan(5);
    for (const model of body.data) {
      expect(model.endpoints.length).toBeGreaterThan(0);
      expect(model.endpoint_count).toBe(model.endpoints.length);
      expect(model.levels).toEqual(["L3"]);
      for (const endpoint of model.endpoints)
        expect(endpoint).toMatchObject({ provider: "scaleway", level: "L3", countries: ["FR"] });
    }
  });

  test("PUB-01 country filters match known countries only; an endpoint also shows assumed ones", async () => {
    const all = await list("provider=anthropic&limit=1000");
    expect(all.body.data.length).toBeGreaterThan(3);
    for (const model of all.body.data) {
      expect(model.countries).toEqual([]);
      expect(model.endpoints[0]).toMatchObject({ countries: ["US"], countries_kind: "unknown" });
    }
    expect((await list("provider=anthropic&country=US")).body.data).toEqual([]);
    const providers = (await ask(handlers, { id: "listPublicProviders", query: "limit=1000" })).body.data;
    // What is shown of any provider can be asked for.
    const shown = new Set<string>(providers.flatMap(({ countries }: { countries: string[] }) => countries));
    expect((await list(`country=${[...shown].join(",")}`)).status).toBe(200);
    expect(shown).not.toContain("SG");
  });

  test("PUB-01 all capabilities must match, but any creator", async () => {
    const { body } = await list("capability=tools,image_input&creator=mistral,openai&limit=1000");
    expect(body.data.length).toBeGreaterThan(5);
    for (const model of body.data) {
      expect(model.capabilities).toEqual(expect.arrayContaining(["tools", "image_input"]));
      expect(["mistral", "openai"]).toContain(model.creator);
    }
    expect(new Set(body.data.map((model: { creator: string }) => model.creator)).size).toBe(2);
  });

  test("all search words must match", async () => {
    const { body } = await list("q=Mistral+SMALL&limit=1000");
    expect(body.data.length).toBeGreaterThan(0);
    for (const model of body.data) expect(`${model.id} ${model.name} ${model.family}`.toLowerCase()).toContain("small");
  });

  test("messages and responses are served by chat models", async () => {
    expect(ids(await list("surface=messages&limit=1000"))).toEqual(ids(await list("surface=chat&limit=1000")));
    expect(ids(await list("surface=speech&limit=1000"))).not.toContain("openai/gpt-5");
  });

  test.each(["creator", "family", "provider", "capability", "surface", "level", "country"])(
    "%s=unknown-value is refused with what is allowed",
    async (name) => {
      const found = await refusal(handlers, { id: "listPublicModels", query: `${name}=unknown-value` });
      expect(found).toMatchObject({ code: "invalid_value", param: name });
      expect(found.message).toMatch(/must be one of \S+/);
    },
  );

  test("a family with only hidden models is no valid filter", async () => {
    expect(snapshot.families.has("sandbox-mishaps")).toBe(true);
    for (const id of ["listPublicModels", "listPublicFamilies", "listPublicModelCreators", "listPublicProviders"]) {
      expect(await refusal(handlers, { id, query: "family=sandbox-mishaps" })).toMatchObject({
        status: 400,
        code: "invalid_value",
        param: "family",
      });
      expect((await refusal(handlers, { id, query: "family=unknown-value" })).message).not.toContain("sandbox-mishaps");
    }
  });

  test("every documented family, country and modality matches something", async () => {
    for (const name of ["family", "country", "modality"]) {
      const { message } = await refusal(handlers, { id: "listPublicModels", query: `${name}=unknown-value` });
      const values = /must be one of (.+), not "/.exec(message)?.[1]?.split(", ") ?? [];
      expect(values.length).toBeGreaterThan(0);
      for (const value of values)
        expect([name, value, (await list(`${name}=${value}`)).body.data]).not.toEqual([name, value, []]);
    }
  });

  test("families, creators and providers match by their models and endpoints", async () => {
    const slugs = async (id: string, query: string) =>
      (await ask(handlers, { id, query })).body.data.map((row: { slug: string }) => row.slug);
    expect(await slugs("listPublicProviders", "country=FR&level=L3&limit=1000")).toContain("scaleway");
    expect(await slugs("listPublicProviders", "country=FR&level=L3&limit=1000")).not.toContain("openai");
    expect(await slugs("listPublicFamilies", "creator=mistral")).toContain("voxtral");
    expect(await slugs("listPublicFamilies", "creator=mistral")).not.toContain("gpt");
    expect(await slugs("listPublicModelCreators", "surface=decisions&provider=perplexity")).toEqual(["perplexity"]);
    expect(await slugs("listPublicProviders", "q=bedrock")).toEqual(["aws-bedrock"]);
    expect(await slugs("listPublicProviders", "sort=-name&q=sandbox")).toEqual([
      "sandbox-us",
      "sandbox-fr",
      "sandbox-de",
    ]);
  });

  test("the models of a family are those of the family", async () => {
    const answer = await ask(handlers, { id: "listPublicFamilyModels", params: { slug: "gpt" }, query: "limit=1000" });
    const family = await ask(handlers, { id: "getPublicFamily", params: { slug: "gpt" } });
    expect(ids(answer)).toEqual(family.body.models);
    expect(ids(answer).length).toBe(family.body.model_count);
  });
});

type Lowest = { readonly input_per_1m_tokens: string; readonly output_per_1m_tokens: string };

describe("order", () => {
  const SORTS = {
    id: "id",
    created: "release_date",
    quality: "quality",
    context: "context_tokens",
    name: "name",
  } as const;

  test.each(Object.entries(SORTS))(
    "PUB-01 sort=%s sorts by %s, reversed with a minus, unknown values last",
    async (sort, field) => {
      for (const sign of ["", "-"]) {
        const rows = (await list(`sort=${sign}${sort}&limit=1000`)).body.data;
        const values = rows.map((row: Record<string, unknown>) => {
          const value = row[field];
          return typeof value === "object" && value !== null && "score" in value ? value.score : value;
        });
        const known = values.filter((value: unknown) => value !== null);
        expect(values.slice(known.length).every((value: unknown) => value === null)).toBe(true);
        const lower = known.map((value: unknown) => (typeof value === "string" ? value.toLowerCase() : value));
        const up = lower.toSorted((a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0));
        expect(lower).toEqual(sign === "" ? up : up.toReversed());
      }
    },
  );

  test("PUB-01 sort=price compares the cheapest endpoints across currencies, in both directions", async () => {
    const nanos = (text: string) => Math.round(Number(text) * 1e9);
    const sumsBy = async (sort: string): Promise<number[]> =>
      (await list(`sort=${sort}&currency=EUR&surface=chat&limit=1000`)).body.data
        .map((row: { lowest_price: Lowest | null }) => row.lowest_price)
        .filter((price: Lowest | null) => price !== null)
        .map((price: Lowest) => nanos(price.input_per_1m_tokens) + nanos(price.output_per_1m_tokens));
    const sums = await sumsBy("price");
    expect(sums.length).toBeGreaterThan(100);
    expect(sums).toEqual(sums.toSorted((a, b) => a - b));
    expect(await sumsBy("-price")).toEqual(sums.toReversed());
  });

  test("an unknown sort order is refused and the valid ones are listed", async () => {
    const found = await refusal(handlers, { id: "listPublicModels", query: "sort=size" });
    expect(found).toMatchObject({ code: "invalid_value", param: "sort" });
    expect(found.message).toContain("-price");
  });
});

describe("prices", () => {
  test("are shown as listed, or converted exactly and rounded once", async () => {
    const files = memoryFiles(
      "cat",
      firstEndpoint({ prices: [{ currency: "USD", input_per_1m_tokens: "0.1", output_per_1m_tokens: "0.000000001" }] }),
    );
    const small = await load(["cat"], files);
    const shown = catalogueHandlers({ snapshot: () => small, nowMs: () => NOON_MS });
    const price = async (query: string) =>
      (await ask(shown, { id: "getPublicModel", params: { slug: "lab/writer" }, query })).body.endpoints[0].price;
    expect(await price("")).toMatchObject({ currency: "USD", input_per_1m_tokens: "0.1", converted: null });
    // 1.25 dollars are a euro
    expect(await price("currency=EUR")).toMatchObject({
      currency: "EUR",
      input_per_1m_tokens: "0.08",
      output_per_1m_tokens: "0.000000001",
      cached_read_per_1m_tokens: null,
      converted: { from: "USD", rate: "0.8", rate_date: "2026-11-14" },
    });
    expect(
      await refusal(shown, { id: "getPublicModel", params: { slug: "lab/writer" }, query: "currency=GBP" }),
    ).toMatchObject({
      code: "invalid_value",
      param: "currency",
      message: expect.stringContaining("EUR, USD"),
    });
  });

  test("PUB-01 current and upcoming prices are shown; the ETag changes with the day and the catalogue", async () => {
    const rows = [
      { currency: "EUR", input_per_1m_tokens: 1, output_per_1m_tokens: 1 },
      { from: "2026-11-16", currency: "EUR", input_per_1m_tokens: 2, output_per_1m_tokens: 2 },
    ];
    const small = await load(["cat"], memoryFiles("cat", firstEndpoint({ prices: rows })));
    const changed = await load(["cat"], memoryFiles("cat", firstEndpoint({ prices: rows.slice(0, 1) })));
    const at = (time: string, from = small) =>
      ask(catalogueHandlers({ snapshot: () => from, nowMs: () => Date.parse(time) }), {
        id: "getPublicModel",
        params: { slug: "lab/writer" },
      });
    const [before, after] = [await at("2026-11-15T23:59:59Z"), await at("2026-11-16T00:00:00Z")];
    expect(before.body.endpoints[0]).toMatchObject({
      price: { input_per_1m_tokens: "1", since: null },
      price_history: [{ input_per_1m_tokens: "1" }],
      upcoming_prices: [{ from: "2026-11-16", since: "2026-11-16" }],
    });
    expect(after.body.endpoints[0]).toMatchObject({
      price: { input_per_1m_tokens: "2", from: "2026-11-16" },
      price_history: [{ since: "2026-11-16" }, { input_per_1m_tokens: "1", since: null }],
      upcoming_prices: [],
    });
    expect(after.headers["etag"]).not.toBe(before.headers["etag"]);
    expect((await at("2026-11-15T23:59:59Z", changed)).headers["etag"]).not.toBe(before.headers["etag"]);
  });

  test("an unknown price is null", async () => {
    const { body } = await ask(handlers, { id: "getPublicProvider", params: { slug: "privatemode" } });
    expect(body.endpoints.length).toBeGreaterThan(0);
    for (const endpoint of body.endpoints) expect(endpoint.price).toBeNull();
  });
});

describe("what is shown", () => {
  test("retired endpoints and hidden models are not shown, simulated ones are marked", async () => {
    const { body } = await list("limit=1000");
    const all = body.data.flatMap((model: { endpoints: { id: string }[] }) => model.endpoints.map(({ id }) => id));
    expect(snapshot.endpoints.get("groq:global:meta/llama-3.3-70b-instruct")?.status).toBe("retired");
    expect(all).not.toContain("groq:global:meta/llama-3.3-70b-instruct");
    expect(snapshot.models.get("sandbox/fail-500")?.hidden).toBe(true);
    expect(ids({ status: 200, headers: {}, body })).not.toContain("sandbox/fail-500");
    expect(await refusal(handlers, { id: "getPublicModel", params: { slug: "sandbox/fail-500" } })).toMatchObject({
      status: 404,
    });
    const sandbox = body.data.find((model: { id: string }) => model.id === "sandbox/chat");
    expect(sandbox).toMatchObject({ sandbox: true, name: expect.stringContaining("simulated") });
    const provider = await ask(handlers, { id: "getPublicProvider", params: { slug: "sandbox-de" } });
    expect(provider.body.endpoints.map((endpoint: { model: string }) => endpoint.model)).not.toContain(
      "sandbox/fail-500",
    );
  });

  test("PUB-03 each requirement of a level is met or not, with the statement behind it", async () => {
    const criteria = async (slug: string, endpoint = 0) =>
      (await ask(handlers, { id: "getPublicProvider", params: { slug } })).body.endpoints[endpoint].criteria;
    expect(await criteria("scaleway")).toMatchObject([
      { criterion: "location", level: "L1", met: "yes", evidence: { status: "verified", subject: "location" } },
      { criterion: "operator", level: "L2", met: "yes", evidence: { status: "verified" } },
      { criterion: "certification", level: "L2", met: "yes", evidence: { status: "verified" } },
      { criterion: "ownership", level: "L3", met: "yes", evidence: { status: "claimed", missing: expect.any(String) } },
      { criterion: "infrastructure", level: "L3", met: "yes", evidence: { status: "verified" } },
    ]);
    expect(await criteria("openai")).toMatchObject([
      { criterion: "location", met: "no" },
      { criterion: "operator", met: "no", fact: expect.stringContaining("(US)"), evidence: null },
      { criterion: "certification", met: "yes" },
      { criterion: "ownership", met: "no" },
      { criterion: "infrastructure", met: "no" },
    ]);
  });

  test("PUB-03 lists leave out evidence, price history and descriptions; single records have them", async () => {
    const [row] = (await list("q=mistral small")).body.data;
    expect(Object.keys(row)).not.toEqual(expect.arrayContaining(["description"]));
    for (const name of ["evidence", "criteria", "price_history"]) expect(row.endpoints[0]).not.toHaveProperty(name);
    const one = (await ask(handlers, { id: "getPublicModel", params: { slug: row.id } })).body;
    expect(one.description).toMatch(/^Open-weights chat .*model by Mistral AI\. Reads .* tokens\.$/);
    expect(one.endpoints[0].price_history[0]).toMatchObject({
      since: expect.stringMatching(/^\d{4}-\d{2}-\d{2}$/),
      evidence: { status: expect.any(String), url: expect.stringMatching(/^https:/) },
    });
  });

  test("PUB-03 levels count endpoints by their weakest evidence", async () => {
    const rows = (await ask(handlers, { id: "listPublicSovereigntyLevels" })).body.data;
    const l3 = rows.find(({ level }: { level: string }) => level === "L3");
    const { verified, claimed, doubtful, read } = l3.evidence;
    expect(verified + claimed + doubtful).toBeLessThanOrEqual(l3.endpoint_count);
    expect(claimed).toBeGreaterThan(0);
    expect(read).toBe("2026-11-15");
  });

  test("staleness of evidence depends on the current day", async () => {
    const later = catalogueHandlers({ snapshot: () => snapshot, nowMs: () => Date.parse("2027-05-15T00:00:00Z") });
    const staleness = async (who: Record<string, Handler>) =>
      (await ask(who, { id: "getPublicProvider", params: { slug: "scaleway" } })).body;
    const [now, then] = [await staleness(handlers), await staleness(later)];
    expect(now.evidence[0].stale).toBe(false);
    expect(now.endpoints[0].criteria[0].evidence).toMatchObject({
      stale: false,
      claim: expect.any(String),
      url: expect.any(String),
    });
    expect(then.evidence[0].stale).toBe(true);
    expect(then.endpoints[0].criteria[0].evidence.stale).toBe(true);
  });

  test("304 has no body and accepts every form of the ETag", async () => {
    const first = await list("limit=1");
    const tag = first.headers["etag"];
    for (const sent of [tag, `W/${tag}`, `"other", ${tag}`, "*"]) {
      const answer = await ask(handlers, {
        id: "listPublicModels",
        query: "limit=1",
        headers: { "if-none-match": sent ?? "" },
      });
      expect(answer).toMatchObject({ status: 304, body: undefined, headers: { etag: tag } });
    }
    const other = await ask(handlers, {
      id: "listPublicModels",
      query: "limit=2",
      headers: { "if-none-match": tag ?? "" },
    });
    expect(other.status).toBe(200);
    expect(
      await refusal(handlers, { id: "listPublicModels", query: "limit=0", headers: { "if-none-match": "*" } }),
    ).toMatchObject({ status: 400 });
  });
});
