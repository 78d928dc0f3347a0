import { describe, expect, test } from "vitest";
import { ALL_PROVEN } from "../../../tests/support/proofs.ts";
import {
  firstEndpoint,
  firstModel,
  memoryFiles,
  NOON_MS,
  sampleFiles,
} from "../../../tests/support/small-catalogue.ts";
import type { Surface } from "../record/record.ts";
import { checkCallability, isPricedFor, servesSurface } from "./callability.ts";
import type { CatalogueSnapshot, Price, ProviderConnections } from "./catalogue.ts";
import { loadCatalogue } from "./load.ts";
import type { ProofLookup } from "./proofs.ts";

async function load(files: Record<string, unknown>): Promise<CatalogueSnapshot> {
  const loaded = await loadCatalogue(["cat"], NOON_MS, memoryFiles("cat", files));
  if ("problems" in loaded) throw new Error(JSON.stringify(loaded.problems));
  return loaded.snapshot;
}

const connected: ProviderConnections = {
  hasRealProvider: true,
  credential: () => ({ kind: "bearer", token: "t" }),
  baseUrl: (endpoint) => endpoint.baseUrl ?? undefined,
};
const disconnected: ProviderConnections = { ...connected, credential: () => undefined };

type Case = {
  readonly files?: Record<string, unknown>;
  readonly id?: string;
  readonly surface?: Surface;
  readonly connections?: ProviderConnections;
  readonly walletCurrency?: string;
  readonly nowMs?: number;
  readonly proofs?: Pick<ProofLookup, "isProven">;
};

async function ask(given: Case) {
  const snapshot = await load(given.files ?? sampleFiles());
  const endpoint = snapshot.endpoints.get(given.id ?? "acme:fr:lab/writer");
  if (endpoint === undefined) throw new Error("no such endpoint");
  return checkCallability(endpoint, given.surface ?? "chat", {
    snapshot,
    connections: given.connections ?? connected,
    proofs: given.proofs ?? ALL_PROVEN,
    walletCurrency: given.walletCurrency ?? "EUR",
    nowMs: given.nowMs ?? NOON_MS,
  });
}

const chatPrice = { input_per_1m_tokens: 1, output_per_1m_tokens: 1 };

const NONE_PROVEN = { isProven: () => false };
const serving = (surface: Surface, facts: Record<string, unknown>) => ({
  ...firstModel({ surfaces: [surface] }),
  "providers/acme.json": firstEndpoint({ surfaces: [surface], ...facts })["providers/acme.json"],
});
const judging = () =>
  serving("decisions", {
    decisions_interface: "system_one",
    prices: [{ currency: "EUR", input_per_1m_tokens: 1 }],
  });
const speaking = () =>
  serving("speech", {
    speech: { interface: "openai", formats: ["mp3"] },
    prices: [{ currency: "EUR", per_1m_characters: 1 }],
  });

const OBSTACLES: readonly [string, string, Case][] = [
  ["it is retired", "retired", { files: firstEndpoint({ status: "retired" }) }],
  ["it does not serve the surface", "surface_not_served", { surface: "embeddings" }],
  ["it speaks no dialect", "no_dialect", { files: firstEndpoint({ dialects: [], responses_api: false }) }],
  ["its provider is not connected", "not_connected", { connections: disconnected }],
  ["its address is not known", "no_base_url", { files: firstEndpoint({ base_url: null }) }],
  ["its address has a placeholder", "no_base_url", { files: firstEndpoint({ base_url: "https://{you}.example/v1" }) }],
  ["it has no price", "no_price", { files: firstEndpoint({ prices: undefined }) }],
  [
    "it has no output price",
    "no_price",
    { files: firstEndpoint({ prices: [{ currency: "EUR", input_per_1m_tokens: 1 }] }) },
  ],
  [
    "its price begins tomorrow",
    "no_price",
    { files: firstEndpoint({ prices: [{ currency: "EUR", from: "2026-11-16", ...chatPrice }] }) },
  ],
  ["it is not proven on decisions", "not_proven", { files: judging(), surface: "decisions", proofs: NONE_PROVEN }],
  ["it is not proven on speech", "not_proven", { files: speaking(), surface: "speech", proofs: NONE_PROVEN }],
  ["BILL-06 there is no rate to the wallet", "no_exchange_rate", { walletCurrency: "XTS" }],
];

describe("an endpoint is not callable when", () => {
  test.each(OBSTACLES)("%s", async (_what, why, given) => {
    const found = await ask(given);
    expect(found).toMatchObject({ is: "not_callable", why });
    expect(found.is === "not_callable" && found.reason).toMatch(/^[a-z].*[^.]$/);
  });
});

describe("an endpoint is callable", () => {
  test("with its base URL and current price", async () => {
    const found = await ask({});
    expect(found).toMatchObject({ is: "callable", baseUrl: "https://api.acme.example/v1", price: { currency: "EUR" } });
  });

  test("with the responses dialect only", async () => {
    expect((await ask({ files: firstEndpoint({ dialects: [], responses_api: true }) })).is).toBe("callable");
  });

  test("on the first day of its price", async () => {
    const files = firstEndpoint({ prices: [{ currency: "EUR", from: "2026-11-16", ...chatPrice }] });
    expect((await ask({ files, nowMs: Date.parse("2026-11-16T00:00:00Z") })).is).toBe("callable");
  });

  test("when a setting supplies the base URL", async () => {
    const files = firstEndpoint({ base_url: "https://{you}.example/v1" });
    const connections = { ...connected, baseUrl: () => "https://mine.example/v1" };
    expect(await ask({ files, connections })).toMatchObject({ is: "callable", baseUrl: "https://mine.example/v1" });
  });

  test("without an exchange rate if the wallet has the price's currency", async () => {
    const files = firstEndpoint({ prices: [{ currency: "USD", ...chatPrice }] });
    expect((await ask({ files, walletCurrency: "USD" })).is).toBe("callable");
  });

  test("with a declared price of zero: free is a price, unknown is not", async () => {
    const free = { currency: "EUR", input_per_1m_tokens: 0, output_per_1m_tokens: 0, free: true };
    expect((await ask({ files: firstEndpoint({ prices: [free] }) })).is).toBe("callable");
  });

  test("DEC-02 TTS-09 on decisions and speech after a proof, and on other surfaces without one", async () => {
    expect((await ask({ files: judging(), surface: "decisions" })).is).toBe("callable");
    expect((await ask({ files: speaking(), surface: "speech" })).is).toBe("callable");
    expect((await ask({ proofs: NONE_PROVEN })).is).toBe("callable");
  });

  test("on messages and responses when it serves chat", async () => {
    expect((await ask({ surface: "messages" })).is).toBe("callable");
    expect((await ask({ surface: "responses" })).is).toBe("callable");
    expect(servesSurface(["embeddings"], "messages")).toBe(false);
  });
});

const one = { digits: 1n, scale: 0 };
const NO_FIGURE: Price = {
  currency: "EUR",
  from: null,
  inputPer1mTokens: null,
  outputPer1mTokens: null,
  cachedReadPer1mTokens: null,
  cacheWritePer1mTokens: null,
  audioInputPer1mTokens: null,
  audioOutputPer1mTokens: null,
  per1mCharacters: null,
  perMinuteAudio: null,
  perRequest: null,
  tiers: [],
};

const UNITS: readonly [Surface, Partial<Price>, boolean][] = [
  ["chat", { inputPer1mTokens: one, outputPer1mTokens: one }, true],
  ["chat", { outputPer1mTokens: one }, false],
  ["chat", { perRequest: one }, false],
  ["embeddings", { inputPer1mTokens: one }, true],
  ["embeddings", { perMinuteAudio: one }, false],
  ["transcriptions", { perMinuteAudio: one }, true],
  ["transcriptions", { audioInputPer1mTokens: one, outputPer1mTokens: one }, true],
  ["transcriptions", { audioInputPer1mTokens: one }, false],
  ["speech", { per1mCharacters: one }, true],
  ["speech", { perMinuteAudio: one }, true],
  ["speech", { inputPer1mTokens: one, audioOutputPer1mTokens: one }, true],
  ["speech", { inputPer1mTokens: one }, false],
  ["decisions", { inputPer1mTokens: one }, true],
  ["decisions", { perRequest: one }, true],
  ["decisions", { outputPer1mTokens: one }, false],
];

test.each(
  UNITS.map(([surface, figures, expected]) => ({ surface, figures, expected, named: Object.keys(figures).join(", ") })),
)("$surface priced by $named is billable: $expected", ({ surface, figures, expected }) => {
  expect(isPricedFor({ ...NO_FIGURE, ...figures }, surface)).toBe(expected);
});
