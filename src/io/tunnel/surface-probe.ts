import { z } from "zod";
import type { NodeSurface } from "../../domain/tenancy/node.ts";
import { JsonDocument } from "../../kit/json-document.ts";
import { type LocalServer, readLocal } from "./local-server.ts";

/** Marks requests that only ask what a model serves. */
export const PROBE_USER_AGENT = "inference-node-probe";

/** How long one refresh may probe; the remaining models are probed by the next one. */
const BUDGET_MS = 5_000;
const REQUEST_TIMEOUT_MS = 4_000;

const EMBEDDINGS: readonly NodeSurface[] = ["embeddings"];
const RERANK: readonly NodeSurface[] = ["rerank"];
const IMAGES: readonly NodeSurface[] = ["images"];
const CHAT: readonly NodeSurface[] = ["chat"];
const BOTH: readonly NodeSurface[] = ["chat", "embeddings"];

export type SurfaceRules = {
  readonly local: LocalServer;
  /** Surfaces that the operator of the agent set; these models are not probed. */
  readonly chosen: Readonly<Record<string, readonly NodeSurface[]>>;
  readonly monotonicMs: () => number;
};

/** Finds the surfaces of local models by asking their server, once per model. */
export class SurfaceProbe {
  readonly #rules: SurfaceRules;
  readonly #found = new Map<string, readonly NodeSurface[]>();

  constructor(rules: SurfaceRules) {
    this.#rules = rules;
  }

  /** Probes models that are not known yet, within the budget, and forgets models that are gone. */
  async refresh(ids: readonly string[]): Promise<void> {
    const { local, chosen, monotonicMs } = this.#rules;
    const there = new Set(ids);
    for (const id of this.#found.keys()) if (!there.has(id)) this.#found.delete(id);
    const untilMs = monotonicMs() + BUDGET_MS;
    const unknown = ids.filter((id) => !this.#found.has(id) && !Object.hasOwn(chosen, id));
    const listed = unknown.length === 0 ? new Map<string, readonly NodeSurface[]>() : await lmStudioSurfaces(local);
    for (const id of unknown) {
      if (monotonicMs() >= untilMs) return;
      const surfaces = listed.get(id) ?? (await ollamaSurfaces(local, id)) ?? (await probedSurfaces(local, id));
      if (surfaces !== undefined) this.#found.set(id, surfaces);
    }
  }

  /** As set, else by the type that the server lists, else as found, else guessed from the name until the server responds. */
  surfacesOf(id: string, type: string | undefined): readonly NodeSurface[] {
    const { chosen } = this.#rules;
    const set = Object.hasOwn(chosen, id) ? chosen[id] : undefined;
    return set ?? (type === undefined ? (this.#found.get(id) ?? guessedSurfaces(id)) : typedSurfaces(type));
  }
}

/** Before embeddings, because names such as `bge-reranker-v2` have both words. */
const RERANK_NAME = /rerank/i;

/** By name only: a probe would generate an image. */
const IMAGE_NAME = /(?:^|[/:_.-])(?:flux|sdxl|stable-?diffusion|qwen-image)/i;

const typedSurfaces = (type: string) => (/^embedding/.test(type) ? EMBEDDINGS : CHAT);

const EMBEDDING_NAME = /(?:^|[/:_.-])(?:embed\w*|bge|e5|gte)(?:$|[/:_.-])/i;

function guessedSurfaces(id: string): readonly NodeSurface[] {
  if (RERANK_NAME.test(id)) return RERANK;
  if (IMAGE_NAME.test(id)) return IMAGES;
  return EMBEDDING_NAME.test(id) ? EMBEDDINGS : CHAT;
}

const LmStudioModels = z.object({ data: z.array(z.object({ id: z.string(), type: z.string() })) });

/** LM Studio lists the type of a model; a probe would load the model. */
async function lmStudioSurfaces(local: LocalServer): Promise<Map<string, readonly NodeSurface[]>> {
  const answer = await ask(local, "GET", "/api/v0/models");
  const list = LmStudioModels.safeParse(new JsonDocument(answer?.text ?? "").value);
  if (answer?.status !== 200 || !list.success) return new Map();
  return new Map(list.data.data.map(({ id, type }) => [id, typedSurfaces(type)]));
}

const OllamaModel = z.object({ capabilities: z.array(z.string()) });

/** Ollama states the capabilities of a model; a probe would load the model. */
async function ollamaSurfaces(local: LocalServer, id: string): Promise<readonly NodeSurface[] | undefined> {
  const answer = await ask(local, "POST", "/api/show", { model: id });
  const shown = OllamaModel.safeParse(new JsonDocument(answer?.text ?? "").value);
  if (answer?.status !== 200 || !shown.success) return undefined;
  const { capabilities } = shown.data;
  if (!capabilities.includes("embedding")) return CHAT;
  return capabilities.includes("completion") ? BOTH : EMBEDDINGS;
}

const EmbeddingReply = z.object({ data: z.array(z.object({ embedding: z.unknown() })).min(1) });

const RankingReply = z.object({ results: z.array(z.object({ relevance_score: z.number() })).min(1) });

/** One document of one word, only for models that are named so: for others it would be a wasted request. */
async function ranks(local: LocalServer, id: string): Promise<boolean> {
  if (!RERANK_NAME.test(id)) return false;
  const ranked = await ask(local, "POST", "rerank", { model: id, query: "hello", documents: ["hello"] });
  return ranked?.status === 200 && RankingReply.safeParse(new JsonDocument(ranked.text).value).success;
}

/** One embedding of one word, and one output token only if that succeeds. Undefined: the server did not respond. */
async function probedSurfaces(local: LocalServer, id: string): Promise<readonly NodeSurface[] | undefined> {
  if (IMAGE_NAME.test(id)) return IMAGES;
  if (await ranks(local, id)) return RERANK;
  const embedded = await ask(local, "POST", "embeddings", { model: id, input: "hello" });
  if (embedded === undefined || isTemporary(embedded.status)) return undefined;
  const isEmbedding =
    embedded.status === 200 && EmbeddingReply.safeParse(new JsonDocument(embedded.text).value).success;
  if (!isEmbedding) return CHAT;
  const messages = [{ role: "user", content: "hello" }];
  const replied = await ask(local, "POST", "chat/completions", { model: id, messages, max_tokens: 1 });
  if (replied === undefined || isTemporary(replied.status)) return undefined;
  return replied.status === 200 ? BOTH : EMBEDDINGS;
}

/** The server is starting or busy. 500 and 501 are also how servers refuse a surface. */
function isTemporary(status: number): boolean {
  return status === 429 || status === 502 || status === 503 || status === 504;
}

/** `/…` is a path of the origin, anything else is below the base URL. Undefined: no response. */
async function ask(local: LocalServer, method: string, path: string, body?: object) {
  try {
    return await readLocal(path.startsWith("/") ? { ...local, base: new URL("/", local.base) } : local, {
      method,
      path: path.startsWith("/") ? path : `/${path}`,
      headers: { "user-agent": PROBE_USER_AGENT },
      timeoutMs: REQUEST_TIMEOUT_MS,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch {
    return undefined;
  }
}
