import type { Client, Target } from "./client-kind.ts";

const environmentStep = ({ key }: Target) => ({
  title: "Set the key in the environment",
  code: `export GATEWAY_KEY=${key}`,
});

export const SDKS: readonly Client[] = [
  {
    id: "openai-ts",
    title: "OpenAI SDK, TypeScript",
    kind: "Libraries",
    about: "Chat completions, responses, embeddings, audio.",
    apis: "chat completions, responses",
    base: "with /v1",
    app: ["OpenAI SDK for JavaScript"],
    steps: (target) => [
      environmentStep(target),
      {
        title: "Point the client at the gateway",
        file: "hello.ts",
        code: `import OpenAI from "openai";

const client = new OpenAI({
  baseURL: "${target.origin}/v1",
  apiKey: process.env.GATEWAY_KEY,
});

const answer = await client.chat.completions.create({
  model: "${target.model}",
  messages: [{ role: "user", content: "Say hello" }],
});
console.log(answer.choices[0]?.message.content);`,
      },
      {
        title: "Or use environment variables",
        code: `export OPENAI_BASE_URL=${target.origin}/v1\nexport OPENAI_API_KEY=$GATEWAY_KEY`,
      },
    ],
    pitfalls: [
      "baseURL ends with /v1.",
      "Without apiKey, the SDK uses OPENAI_API_KEY from the environment, which is not a gateway key.",
      "The SDK’s _request_id matches the ID in the request log.",
    ],
  },
  {
    id: "openai-python",
    title: "OpenAI SDK, Python",
    kind: "Libraries",
    about: "Chat completions, responses, embeddings, audio.",
    apis: "chat completions, responses",
    base: "with /v1",
    app: ["OpenAI SDK for Python"],
    steps: (target) => [
      environmentStep(target),
      {
        title: "Point the client at the gateway",
        file: "hello.py",
        code: `import os

from openai import OpenAI

client = OpenAI(
    base_url="${target.origin}/v1",
    api_key=os.environ["GATEWAY_KEY"],
)

answer = client.chat.completions.create(
    model="${target.model}",
    messages=[{"role": "user", "content": "Say hello"}],
)
print(answer.choices[0].message.content)`,
      },
    ],
    pitfalls: ["base_url ends with /v1.", "Instead of changing code, you can set OPENAI_BASE_URL and OPENAI_API_KEY."],
  },
  {
    id: "anthropic",
    title: "Anthropic SDK",
    kind: "Libraries",
    about: "Messages, on any chat model.",
    apis: "messages",
    base: "without /v1",
    app: ["Anthropic SDK for JavaScript", "Anthropic SDK for Python"],
    steps: (target) => [
      environmentStep(target),
      {
        title: "TypeScript",
        file: "hello.ts",
        code: `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({
  baseURL: "${target.origin}",
  authToken: process.env.GATEWAY_KEY,
  apiKey: null,
});

const answer = await client.messages.create({
  model: "${target.model}",
  max_tokens: 500,
  messages: [{ role: "user", content: "Say hello" }],
});
console.log(answer.content);`,
      },
      {
        title: "Python",
        file: "hello.py",
        code: `import os

from anthropic import Anthropic

client = Anthropic(
    base_url="${target.origin}",
    api_key=os.environ["GATEWAY_KEY"],
)

answer = client.messages.create(
    model="${target.model}",
    max_tokens=500,
    messages=[{"role": "user", "content": "Say hello"}],
)
print(answer.content)`,
      },
    ],
    pitfalls: [
      "Use the base URL without /v1, unlike with the OpenAI SDK.",
      "ANTHROPIC_API_KEY in the environment takes precedence unless apiKey is null.",
      "From version 1, the SDK uses API version 2026-10-21, with which Claude models reject temperature and top_p.",
    ],
  },
  {
    id: "google-genai",
    title: "Google Gen AI SDK",
    kind: "Libraries",
    about: "generateContent, on any chat model.",
    apis: "Gemini",
    base: "without /v1",
    app: ["Google Gen AI SDK for JavaScript", "Google Gen AI SDK for Python"],
    steps: (target) => [
      environmentStep(target),
      {
        title: "TypeScript",
        file: "hello.ts",
        code: `import { GoogleGenAI } from "@google/genai";

const client = new GoogleGenAI({
  apiKey: process.env.GATEWAY_KEY,
  httpOptions: { baseUrl: "${target.origin}" },
});

const answer = await client.models.generateContent({
  model: "${target.model}",
  contents: "Say hello",
});
console.log(answer.text);`,
      },
      {
        title: "Python",
        file: "hello.py",
        code: `import os

from google import genai

client = genai.Client(
    api_key=os.environ["GATEWAY_KEY"],
    http_options={"base_url": "${target.origin}"},
)

answer = client.models.generate_content(
    model="${target.model}",
    contents="Say hello",
)
print(answer.text)`,
      },
    ],
    pitfalls: [
      "Use the base URL without /v1beta: the SDK adds it.",
      "Reasoning is only returned with includeThoughts.",
      "Files and cached content live in a Google account and are not available. Send content inline.",
    ],
  },
  {
    id: "vercel-ai",
    title: "Vercel AI SDK",
    kind: "Libraries",
    about: "Any of its three provider packages.",
    apis: "responses, chat completions, messages",
    base: "with /v1",
    app: ["Vercel AI SDK"],
    steps: (target) => [
      environmentStep(target),
      {
        title: "Create a provider",
        file: "hello.ts",
        code: `import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText } from "ai";

const gateway = createOpenAICompatible({
  name: "gateway",
  baseURL: "${target.origin}/v1",
  apiKey: process.env.GATEWAY_KEY,
  includeUsage: true,
  supportsStructuredOutputs: true,
});

const { text } = await generateText({ model: gateway("${target.model}"), prompt: "Say hello" });
console.log(text);`,
      },
    ],
    pitfalls: [
      "All three packages need the base URL with /v1, including @ai-sdk/anthropic (unlike Anthropic’s own SDK).",
      "Without includeUsage: true, streams report no usage.",
      "createOpenAI uses the Responses API unless you call .chat(). With zero data retention, set store: false in its provider options.",
      "@ai-sdk/openai-compatible retries errors that are not retryable. Set maxRetries: 0 to see the first error.",
    ],
  },
  {
    id: "langchain",
    title: "LangChain",
    kind: "Libraries",
    about: "ChatOpenAI or ChatAnthropic.",
    apis: "chat completions, responses, messages",
    base: "with /v1",
    app: ["LangChain", "OpenAI SDK for JavaScript", "OpenAI SDK for Python"],
    steps: (target) => [
      environmentStep(target),
      {
        title: "TypeScript",
        file: "hello.ts",
        code: `import { ChatOpenAI } from "@langchain/openai";

const chat = new ChatOpenAI({
  model: "${target.model}",
  apiKey: process.env.GATEWAY_KEY,
  configuration: { baseURL: "${target.origin}/v1" },
});
console.log((await chat.invoke("Say hello")).content);`,
      },
      {
        title: "Python",
        file: "hello.py",
        code: `import os

from langchain_openai import ChatOpenAI

chat = ChatOpenAI(
    model="${target.model}",
    api_key=os.environ["GATEWAY_KEY"],
    base_url="${target.origin}/v1",
)
print(chat.invoke("Say hello").content)`,
      },
    ],
    pitfalls: [
      "ChatOpenAI takes the base URL with /v1 under configuration; ChatAnthropic takes it without /v1 as anthropicApiUrl.",
      "Both retry a failed request up to six times. Set maxRetries: 0 to see the first error.",
    ],
  },
];
