import { expect, test } from "vitest";
import { chatUpstream } from "../dialects/chat/upstream/dialect.ts";
import type { ModelFacts } from "../dialects/upstream-dialect.ts";
import type { DecisionCall, DecisionQuestion } from "./call.ts";
import { decodeLogprobs, encodeLogprobs, type LogprobsOptions } from "./logprobs.ts";

const FACTS: ModelFacts = {
  model: "m",
  upstreamModel: "m",
  maxOutputTokens: null,
  sampling: null,
  thinking: null,
  quirks: [],
};
const CHAT: LogprobsOptions = { form: "chat", requestedBy: "flag", top: 20, thinkingOff: null };
const question: DecisionQuestion = { key: "q", id: "q", type: "noul", instructions: "Is it?" };
const ask: DecisionCall = { model: "m", state: "A state.", questions: [question], images: [] };
const sent = (facts: Partial<LogprobsOptions>, more: Partial<ModelFacts> = {}) =>
  JSON.parse(encodeLogprobs(ask, question, chatUpstream, { ...FACTS, ...more }, { ...CHAT, ...facts }));

test("DEC-07 reasoning is disabled with the field that the server supports, and no other", () => {
  expect(sent({})).toMatchObject({ reasoning_effort: "none" });
  expect(sent({ thinkingOff: "enable_thinking" })).toMatchObject({ enable_thinking: false });
  const template = sent({ thinkingOff: "chat_template_kwargs" });
  expect(template).toMatchObject({ chat_template_kwargs: { enable_thinking: false } });
  expect(template).not.toHaveProperty("reasoning_effort");
  expect(sent({}, { reasoning: "never" })).not.toHaveProperty("reasoning_effort");
  expect(sent({}, { reasoning: "untold" })).not.toHaveProperty("reasoning_effort");
});

test("DEC-07 the token limit uses the server's field, and sampling is omitted for models without it", () => {
  expect(sent({}, { outputLimit: "max_completion_tokens" })).toMatchObject({ max_completion_tokens: 1 });
  expect(sent({}, { sampling: false })).not.toHaveProperty("temperature");
  expect(sent({ requestedBy: "count", top: 5 })).toMatchObject({ logprobs: 5 });
  expect(sent({ requestedBy: "count" })).not.toHaveProperty("top_logprobs");
});

const reply = (logprobs: unknown) =>
  Buffer.from(
    JSON.stringify({
      id: "c",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [{ index: 0, message: { role: "assistant", content: "Hm" }, logprobs, finish_reason: "length" }],
      usage: { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 },
    }),
  );
const row = (token: string, p: number) => ({ token, logprob: Math.log(p), bytes: null });

test("DEC-06 two alternatives and a rare sampled token are too few to know every label", () => {
  const read = (logprobs: unknown) => decodeLogprobs(reply(logprobs), question, chatUpstream, CHAT);
  const few = [row("Yes", 0.55), row("The", 0.2)];
  expect(read({ content: [{ ...row("Hm", 1e-5), top_logprobs: few }] })).toHaveProperty("unusable");
  const named = { Yes: Math.log(0.55), The: Math.log(0.2), Hm: Math.log(1e-5) };
  expect(read({ tokens: ["Hm"], token_logprobs: [named.Hm], top_logprobs: [named] })).toHaveProperty("unusable");
  const both = [row("Yes", 0.9), row("No", 0.09)];
  expect(read({ content: [{ ...row("Hm", 1e-5), top_logprobs: both }] })).toHaveProperty("answer");
});
