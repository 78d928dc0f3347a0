import type { Client, Target } from "./client-kind.ts";

const environment = ({ key }: Target) => ({ title: "The key, in the environment", code: `export GATEWAY_KEY=${key}` });

export const SDKS: readonly Client[] = [
  {
    id: "openai-ts",
    title: "OpenAI SDK, TypeScript",
    kind: "Libraries",
    about: "Chat completions, responses, embeddings, audio.",
    speaks: "chat completions, responses",
    base: "with /v1",
    app: ["OpenAI SDK for JavaScript"],
    steps: (target) => [
      environment(target),
      {
        title: "Point the client at the gateway",
        file: "hello.ts",
        code: `import OpenAI from "openai";

const client = new OpenAI({ baseURL: "${target.origin}/v1", apiKey: process.env.GATEWAY_KEY });

const answer = await client.chat.completions.create({
  model: "${target.model}",
  messages: [{ role: "user", content: "Say hello" }],
});
console.log(answer.choices[0]?.message.content);`,
      },
      {
        title: "Or without a change of code",
        code: `export OPENAI_BASE_URL=${target.origin}/v1\nexport OPENAI_API_KEY=$GATEWAY_KEY`,
      },
    ],
    traps: [
      "baseURL ends with /v1.",
      "An OPENAI_API_KEY in the environment is taken when apiKey is left out: it is not a key of the gateway.",
      "The request id that the SDK shows as _request_id is the one of the request log.",
    ],
  },
  {
    id: "openai-python",
    title: "OpenAI SDK, Python",
    kind: "Libraries",
    about: "The same in Python.",
    speaks: "chat completions, responses",
    base: "with /v1",
    app: ["OpenAI SDK for Python"],
    steps: (target) => [
      environment(target),
      {
        title: "Point the client at the gateway",
        file: "hello.py",
        code: `import os

from openai import OpenAI

client = OpenAI(base_url="${target.origin}/v1", api_key=os.environ["GATEWAY_KEY"])

answer = client.chat.completions.create(
    model="${target.model}",
    messages=[{"role": "user", "content": "Say hello"}],
)
print(answer.choices[0].message.content)`,
      },
    ],
    traps: [
      "base_url ends with /v1.",
      "OPENAI_BASE_URL and OPENAI_API_KEY in the environment do the same without code.",
    ],
  },
  {
    id: "anthropic",
    title: "Anthropic SDK",
    kind: "Libraries",
    about: "Messages, on any chat model.",
    speaks: "messages",
    base: "without /v1",
    app: ["Anthropic SDK for JavaScript", "Anthropic SDK for Python"],
    steps: (target) => [
      environment(target),
      {
        title: "TypeScript",
        file: "hello.ts",
        code: `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ baseURL: "${target.origin}", authToken: process.env.GATEWAY_KEY, apiKey: null });

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

client = Anthropic(base_url="${target.origin}", api_key=os.environ["GATEWAY_KEY"])

answer = client.messages.create(
    model="${target.model}",
    max_tokens=500,
    messages=[{"role": "user", "content": "Say hello"}],
)
print(answer.content)`,
      },
    ],
    traps: [
      "The address is without /v1, unlike that of the OpenAI SDK.",
      "An ANTHROPIC_API_KEY in the environment wins unless apiKey is null.",
      "From version 1 on the SDK speaks API version 2026-10-21, where temperature and top_p are refused by Claude models.",
    ],
  },
  {
    id: "vercel-ai",
    title: "Vercel AI SDK",
    kind: "Libraries",
    about: "Any of its three provider packages.",
    speaks: "by package: responses, chat completions, messages",
    base: "with /v1",
    app: ["Vercel AI SDK"],
    steps: (target) => [
      environment(target),
      {
        title: "A provider of your own",
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
    traps: [
      "All three packages want the address with /v1, @ai-sdk/anthropic too: Anthropic’s own SDK does not.",
      "Without includeUsage: true a stream shows no usage.",
      "createOpenAI speaks responses unless .chat() is called. Under zero data retention set store: false in its provider options.",
      "@ai-sdk/openai-compatible tries again even where the gateway says not to: maxRetries: 0 shows the first error.",
    ],
  },
  {
    id: "langchain",
    title: "LangChain",
    kind: "Libraries",
    about: "ChatOpenAI or ChatAnthropic.",
    speaks: "chat completions, responses, messages",
    base: "with /v1",
    app: ["LangChain", "OpenAI SDK for JavaScript", "OpenAI SDK for Python"],
    steps: (target) => [
      environment(target),
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

chat = ChatOpenAI(model="${target.model}", api_key=os.environ["GATEWAY_KEY"], base_url="${target.origin}/v1")
print(chat.invoke("Say hello").content)`,
      },
    ],
    traps: [
      "ChatOpenAI wants the address with /v1 under configuration; ChatAnthropic wants it without, as anthropicApiUrl.",
      "Both try a failed request up to six times: maxRetries: 0 shows the first error.",
    ],
  },
];
