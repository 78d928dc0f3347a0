import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { EndpointEntry } from "../../src/domain/catalogue/schema.ts";
import { PROJECT_ROOT } from "../../src/settings/config.ts";
import { type Called, type Json, startGateway, type Tenant, type TestGateway } from "./gateway.ts";
import { allProven } from "./proofs.ts";
import { connectedTo, QUIET } from "./scene.ts";
import { type ReplySource, type Script, startUpstream, type Upstream } from "./upstream.ts";

/** Decision providers, cheapest first, each with its own interface; `zeta` only chats. */
export const DECIDERS = ["alpha", "beta", "gamma", "delta", "epsilon", "kappa"] as const;
export type Decider = (typeof DECIDERS)[number];

type Row = Partial<EndpointEntry> & { readonly price: Record<string, unknown> | null };

const ROWS: Readonly<Record<Decider | "zeta", Row>> = {
  alpha: {
    decisions_interface: "system_one",
    decisions: { images: "state_items", options_max: 255, levels_max: 10, decimals: 2 },
    price: { input_per_1m_tokens: 100 },
  },
  beta: {
    decisions_interface: "openai",
    decisions: { images: "input_parts", questions_max: 400, options_max: 255, levels_max: 10, decimals: 2 },
    price: { input_per_1m_tokens: 200, cached_read_per_1m_tokens: 20, output_per_1m_tokens: 0 },
  },
  gamma: {
    decisions_interface: "sglang",
    decisions: { images: "image_objects", options_max: 26, levels_max: 10, decimals: 12 },
    price: { input_per_1m_tokens: 300, output_per_1m_tokens: 600, per_request: 0.5 },
  },
  delta: {
    decisions_interface: "logprobs",
    dialects: ["D1"],
    features: { reasoning: true, image_input: true },
    price: {
      input_per_1m_tokens: 400,
      cached_read_per_1m_tokens: 40,
      output_per_1m_tokens: 1000,
      tiers: [{ above_input_tokens: 100, input_per_1m_tokens: 450 }],
    },
  },
  epsilon: {
    decisions_interface: "logprobs",
    dialects: ["D3"],
    thinking: "budget",
    price: { input_per_1m_tokens: 500, output_per_1m_tokens: 1000 },
  },
  kappa: {
    decisions_interface: "system_one",
    decisions: {
      path: "/run/{model}",
      envelope: true,
      images: "images_field",
      images_max: 2,
      body_max_bytes: 20_000,
      questions_max: 3,
      decimals: 4,
    },
    price: { input_per_1m_tokens: 600, output_per_1m_tokens: 900, per_request: 0.25 },
  },
  zeta: { surfaces: ["chat"], dialects: ["D1"], price: { input_per_1m_tokens: 1, output_per_1m_tokens: 1 } },
};

const COUNTRIES = { alpha: "US", beta: "DE", gamma: "FR", delta: "FR", epsilon: "NL", kappa: "US", zeta: "US" };

/**
 * `lab/judge` is served by the first five, `lab/mixed` by two of which one accepts images; `lab/<provider>` by that one
 * alone.
 */
function endpointsOf(slug: Decider | "zeta"): object[] {
  const { price, ...row } = ROWS[slug];
  const base = { region: "one", surfaces: ["decisions"], ...row };
  const prices = price === null ? undefined : [{ currency: "EUR", ...price }];
  const all: object[] = [{ ...base, model: `lab/${slug}`, upstream_model: `up/${slug}-1`, prices }];
  if (slug === "zeta") return [...all, { ...base, model: "lab/plain", upstream_model: "up/plain", prices }];
  if (slug !== "kappa") all.push({ ...base, model: "lab/judge", upstream_model: "up/judge", prices });
  if (slug === "beta") all.push({ ...base, model: "lab/mixed", upstream_model: "up/mixed", prices });
  if (slug === "alpha") {
    const { images: _none_taken, ...facts } = row.decisions ?? {};
    all.push({ ...base, decisions: facts, model: "lab/mixed", upstream_model: "up/mixed", prices });
    all.push({ ...base, model: "lab/unpriced", upstream_model: "up/unpriced", prices: undefined });
    const { decisions_interface: _none, decisions: _facts, ...chat } = base;
    const chatPrices = [{ currency: "EUR", input_per_1m_tokens: 1, output_per_1m_tokens: 1 }];
    const chats = { ...chat, surfaces: ["chat"], dialects: ["D1"], model: "lab/chat", upstream_model: "up/chat" };
    all.push({ ...chats, prices: chatPrices });
  }
  return all;
}

function writeCatalogue(folder: string): void {
  for (const name of ["currencies.json", "capabilities.json"])
    cpSync(path.join(PROJECT_ROOT, "catalogue", name), path.join(folder, name));
  for (const name of ["providers", "creators"]) mkdirSync(path.join(folder, name));
  for (const slug of [...DECIDERS, "zeta"] as const) {
    const country = COUNTRIES[slug];
    const isEea = country !== "US";
    const provider = {
      slug,
      name: slug,
      operator: slug,
      eea_operated: isEea,
      currency: "EUR",
      zero_data_retention: isEea ? "yes" : "no",
      trains_on_data: isEea ? "no" : "yes",
      regions: [
        {
          id: "one",
          name: "One",
          base_url: "https://example.invalid/v1",
          countries: [country],
          countries_kind: "exact",
          level: isEea ? "L3" : "L0",
          level_reason: "made up for a test",
        },
      ],
      evidence: [
        {
          subject: "location",
          status: "verified",
          claim: "made up",
          url: "https://example.invalid",
          kind: "primary",
          read: "2026-11-15",
        },
      ],
      endpoints: endpointsOf(slug),
    };
    writeFileSync(path.join(folder, "providers", `${slug}.json`), JSON.stringify(provider));
  }
  const model = (name: string, surface: string) => ({
    id: `lab/${name}`,
    name,
    surfaces: [surface],
    modalities_in: ["text"],
    modalities_out: ["text"],
    context_tokens: 8000,
    capabilities: [],
  });
  const models = [
    ...[...DECIDERS, "judge", "mixed", "unpriced"].map((name) => model(name, "decisions")),
    ...["zeta", "plain", "chat"].map((name) => model(name, "chat")),
  ];
  const creator = { slug: "lab", name: "Lab", families: [{ slug: "lab-all", name: "All", models }] };
  writeFileSync(path.join(folder, "creators", "lab.json"), JSON.stringify(creator));
}

export type DecisionScene = {
  readonly gateway: TestGateway;
  at(provider: Decider): Upstream;
  decide(key: string, body: unknown, headers?: Record<string, string>): Promise<Called>;
  row(requestId: string): Promise<Json>;
  balance(tenant: Tenant): Promise<number>;
  close(): Promise<void>;
};

/** A gateway over its own catalogue, with a well-behaved scripted server for every provider. */
export async function openDecisions(env: Record<string, string> = {}): Promise<DecisionScene> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "gateway-decisions-"));
  writeCatalogue(folder);
  const upstreams = new Map<string, Upstream>();
  for (const slug of DECIDERS) upstreams.set(slug, await startUpstream(ANSWERS[slug]));
  const zeta = await startUpstream();
  upstreams.set("zeta", zeta);
  const gateway = await startGateway({
    env: { ...connectedTo(upstreams), ...QUIET, GATEWAY_CATALOGUE_DIR: folder, ...env },
    prepare: allProven,
  });
  return {
    gateway,
    at(provider) {
      const upstream = upstreams.get(provider);
      if (upstream === undefined) throw new Error(`${provider} is not here`);
      return upstream;
    },
    decide: (key, body, headers = {}) => gateway.call(key, "/v1/decisions", { body, headers }),
    row: (requestId) => gateway.manage("GET", `/requests/${requestId}`),
    balance: async ({ slug }) => Number((await gateway.manage("GET", `/workspaces/${slug}/wallet`)).balance),
    async close() {
      await Promise.all([...upstreams.values()].map((upstream) => upstream.close()));
      await gateway.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A question of each type. */
export const STATE = "The light in the kitchen is switched on.";
export const QUESTIONS = {
  lit: { type: "noul", instructions: "Is the light in the kitchen on?" },
  "room.name": {
    type: "choice",
    instructions: "Which room is it about?",
    criteria: { kitchen: "where one cooks", cellar: "below the house", attic: null },
  },
  bright_2: { type: "score", instructions: "How bright is it?", criteria: ["dark", "dim", "bright"] },
} as const;

export const decisionBody = (more: Record<string, unknown> = {}) => ({
  model: "lab/alpha",
  state: STATE,
  questions: QUESTIONS,
  ...more,
});

/** System One, modelled on recordings of its servers. */
export const SO_ANSWER = {
  model: "jev-1.13.0",
  answers: {
    lit: { type: "noul", noul: 0.97 },
    "room.name": {
      type: "choice",
      choice: "kitchen",
      probabilities: { kitchen: 0.94, cellar: 0.04, attic: 0.02 },
      confidence: 0.91,
    },
    bright_2: {
      type: "score",
      score: 1.55,
      probabilities: { "0": 0.1, "1": 0.25, "2": 0.65 },
      legend: { "0": "dark", "1": "dim", "2": "bright" },
      confidence: 0.32,
    },
  },
  usage: { input_tokens: 120, output_tokens: 57 },
};

export const OD_ANSWER = {
  model: "gpt-6-luna",
  answers: [
    { type: "predicate", name: "lit", probability: 0.98 },
    {
      type: "choice",
      name: "room.name",
      choice: "kitchen",
      confidence: 0.79,
      probabilities: [
        { value: "kitchen", probability: 0.86 },
        { value: "cellar", probability: 0.1 },
        { value: "attic", probability: 0.04 },
      ],
    },
    {
      type: "score",
      name: "bright_2",
      score: 1.5,
      confidence: 0.25,
      probabilities: [
        { value: 0, label: "0", probability: 0.1 },
        { value: 1, label: "1", probability: 0.3 },
        { value: 2, label: "2", probability: 0.6 },
      ],
    },
  ],
  usage: {
    input_tokens: 130,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 0,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 130,
  },
};

const SG_ANSWER = {
  object: "decisions",
  model: "qwen",
  prompt_format_version: 1,
  answers: {
    lit: { type: "yes_no", probabilities: { yes: 0.975, no: 0.025 }, label_mass: 0.99 },
    "room.name": {
      type: "choice",
      choice: "kitchen",
      probabilities: { kitchen: 0.9, cellar: 0.0625, attic: 0.0375 },
      label_mass: 0.97,
    },
    bright_2: { type: "score", score: 1.5, probabilities: { "0": 0.125, "1": 0.25, "2": 0.625 }, label_mass: 0.96 },
  },
  usage: { prompt_tokens: 140, total_tokens: 140 },
};

type TokenProbabilities = Readonly<Record<string, number>>;

/** A chat completion of one token, with its alternatives. */
export function chatWithLogprobs(probabilities: TokenProbabilities, more: Record<string, unknown> = {}): Json {
  const alternatives = Object.entries(probabilities).map(([token, p]) => ({
    token,
    logprob: Math.log(p),
    bytes: null,
  }));
  const [first] = alternatives;
  return {
    id: "chatcmpl-up",
    object: "chat.completion",
    created: 1,
    model: "up",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: first?.token ?? "" },
        logprobs: { content: [{ ...first, top_logprobs: alternatives }] },
        finish_reason: "length",
      },
    ],
    usage: { prompt_tokens: 50, completion_tokens: 1, total_tokens: 51 },
    ...more,
  };
}

export function geminiWithLogprobs(probabilities: TokenProbabilities, more: Record<string, unknown> = {}): Json {
  const candidates = Object.entries(probabilities).map(([token, p]) => ({
    token,
    tokenId: 1,
    logProbability: Math.log(p),
  }));
  return {
    candidates: [
      {
        content: { role: "model", parts: [{ text: candidates[0]?.token ?? "" }] },
        finishReason: "MAX_TOKENS",
        index: 0,
        logprobsResult: { topCandidates: [{ candidates }], chosenCandidates: candidates.slice(0, 1) },
      },
    ],
    usageMetadata: { promptTokenCount: 60, candidatesTokenCount: 1, totalTokenCount: 61 },
    modelVersion: "gemini",
    responseId: "resp-up",
    ...more,
  };
}

export const LABELS = {
  yesNo: { Yes: 0.9, " yes": 0.06, No: 0.02, no: 0.01, The: 0.0005 },
  letters: { A: 0.9, B: 0.06, C: 0.03, I: 0.0005 },
  digits: { "2": 0.6, "1": 0.25, "0": 0.1, It: 0.0004 },
};

/** By the question in the text of a request. */
function probabilitiesFor(body: unknown): TokenProbabilities {
  const text = JSON.stringify(body);
  if (text.includes("yes or no only")) return LABELS.yesNo;
  return text.includes("letter of one option") ? LABELS.letters : LABELS.digits;
}

/** Replies only for the questions of the request. */
const only = (answers: Record<string, unknown>, questions: object) =>
  Object.fromEntries(Object.entries(answers).filter(([key]) => key in questions));

const ANSWERS: Readonly<Record<Decider, ReplySource>> = {
  alpha: ({ json }: { json: Json }): Script => ({
    json: { ...SO_ANSWER, answers: only(SO_ANSWER.answers, json.questions) },
    headers: { "x-typesafe-request-id": "ts-1" },
  }),
  beta: ({ json }: { json: Json }): Script => {
    const names = json.questions.map(({ name }: Json) => name);
    return { json: { ...OD_ANSWER, answers: OD_ANSWER.answers.filter(({ name }) => names.includes(name)) } };
  },
  gamma: ({ json }: { json: Json }): Script => {
    const ids = Object.fromEntries(json.questions.map(({ id }: Json) => [id, true]));
    return { json: { ...SG_ANSWER, answers: only(SG_ANSWER.answers, ids) } };
  },
  delta: ({ json }): Script => ({ json: chatWithLogprobs(probabilitiesFor(json)) }),
  epsilon: ({ json }): Script => ({ json: geminiWithLogprobs(probabilitiesFor(json)) }),
  kappa: ({ json }: { json: Json }): Script => ({
    json: {
      result: { ...SO_ANSWER, answers: only(SO_ANSWER.answers, json.questions) },
      success: true,
      errors: [],
      messages: [],
    },
  }),
};

/** Images of one colour. */
export const RED =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAT0lEQVR42u3PQQkAAAgEsAtx/ZMZxgi+hcEKLNO+FgEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQGBywKqxUDxqh7TUQAAAABJRU5ErkJggg==";
export const JPEG = `data:image/jpeg;base64,${Buffer.from([0xff, 0xd8, 0xff, 0xc0, 0, 17, 8, 0, 64, 0, 32, 3, 1, 0x22, 0]).toString("base64")}`;
