import type { EmbeddingSupport } from "../../src/domain/catalogue/embeddings-support.ts";
import { type Host, openaiList, vectorOf } from "./embeddings.ts";
import type { Json } from "./gateway.ts";
import type { ReplySource } from "./upstream.ts";

export type EmbeddingHost = {
  readonly slug: string;
  readonly format: EmbeddingSupport["interface"];
  readonly facts: Host["facts"];
  /** A valid reply to any request in its format. */
  readonly answer: ReplySource;
};

const TOKEN_COUNT = { "x-amzn-bedrock-input-token-count": "3" };
const answering =
  (reply: (sent: Json) => Json, headers = {}): ReplySource =>
  ({ json }) => ({ json: reply(json), headers });

/** A host of every wire format; OpenAI's also with the options that servers of it may lack. */
export const EMBEDDING_HOSTS: readonly EmbeddingHost[] = [
  { slug: "plain", format: "openai", facts: { interface: "openai" }, answer: openaiList() },
  {
    slug: "full",
    format: "openai",
    facts: { interface: "openai", dimensions: true, base64: true, tokens: true },
    answer: openaiList(),
  },
  {
    slug: "mistral",
    format: "mistral",
    facts: { interface: "mistral", dimensions: true },
    answer: answering(({ input, output_dimension: length }) => ({
      id: "m-1",
      object: "list",
      data: [input].flat().map((text: string, index: number) => ({ index, embedding: vectorOf(text, length) })),
      usage: { prompt_tokens: 4, total_tokens: 4 },
    })),
  },
  {
    slug: "gemini",
    format: "gemini",
    facts: { interface: "gemini", dimensions: true },
    answer: answering(({ requests }) => ({
      embeddings: requests.map((one: Json) => ({
        values: vectorOf(one.content.parts[0].text, one.outputDimensionality),
      })),
      usageMetadata: { promptTokenCount: 5 },
    })),
  },
  {
    slug: "vertex",
    format: "vertex",
    facts: { interface: "vertex", dimensions: true },
    answer: answering(({ instances, parameters }) => ({
      predictions: instances.map(({ content }: Json) => ({
        embeddings: {
          values: vectorOf(content, parameters.outputDimensionality),
          statistics: { truncated: false, token_count: 3 },
        },
      })),
    })),
  },
  {
    slug: "cohere",
    format: "cohere",
    facts: { interface: "cohere", dimensions: true },
    answer: answering(({ texts, output_dimension: length }) => ({
      id: "c-1",
      embeddings: { float: texts.map((text: string) => vectorOf(text, length)) },
      meta: { billed_units: { input_tokens: 6 } },
    })),
  },
  {
    slug: "bedrock-cohere",
    format: "bedrock_cohere",
    facts: { interface: "bedrock_cohere", dimensions: true },
    answer: answering(
      ({ texts, output_dimension: length }) => ({
        id: "b-1",
        embeddings: { float: texts.map((text: string) => vectorOf(text, length)) },
        response_type: "embeddings_by_type",
      }),
      TOKEN_COUNT,
    ),
  },
  {
    slug: "bedrock-titan",
    format: "bedrock_titan",
    facts: { interface: "bedrock_titan", dimensions: true },
    answer: answering(({ inputText, dimensions }) => ({
      embedding: vectorOf(inputText, dimensions),
      inputTextTokenCount: 7,
    })),
  },
  {
    slug: "bedrock-nova",
    format: "bedrock_nova",
    facts: { interface: "bedrock_nova", dimensions: true },
    answer: answering(
      ({ singleEmbeddingParams: { text, embeddingDimension } }) => ({
        embeddings: [{ embeddingType: "TEXT", embedding: vectorOf(text.value, embeddingDimension) }],
      }),
      TOKEN_COUNT,
    ),
  },
];

/** All of them, each with a model of its own. */
export const embeddingHosts = (): Record<string, Host> =>
  Object.fromEntries(EMBEDDING_HOSTS.map(({ slug, facts }) => [slug, { facts, price: 0.1, model: `lab/${slug}` }]));
