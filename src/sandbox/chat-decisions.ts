import type { SandboxChatRequest } from "./chat-request.ts";
import { type DecisionContext, optionProbabilities, yesProbability } from "./decision-model.ts";
import { decisionFaultOf } from "./fault-injection.ts";
import { countTokens } from "./tokens.ts";
import type { SimulatedProvider, SimulatedResponse } from "./wire-format.ts";

type TokenProbability = { readonly token: string; readonly p: number };

/** Replies with one label token and its alternatives, as a chat model does when offered labels. */
export function respondWithDecision(
  { model, prompt, logprobs }: SandboxChatRequest,
  provider: SimulatedProvider,
): SimulatedResponse {
  const text = prompt.turns
    .filter(({ role }) => role === "user")
    .map((turn) => turn.text)
    .join("\n");
  const at = text.lastIndexOf("Question:");
  const context: DecisionContext = { state: text.slice(0, Math.max(at, 0)), imageColour: null };
  const question = text.slice(Math.max(at, 0));
  const labels = [...question.matchAll(/^([A-Z]|\d): (.*)$/gm)].map(([, label = "", words = ""]) => ({
    label,
    words,
  }));
  const fault = labels.length === 0 ? undefined : decisionFaultOf(model);
  const tokens = labels.length === 0 ? yesNoProbabilities(question, context) : labelProbabilities(labels, context);
  const [first = { token: "", p: 0 }] = tokens;
  const isRefused = fault === "refuses";
  const alternatives = tokens.slice(0, logprobs ?? 0).map(encodeTokenLogprob);
  const logprobsContent =
    fault === "drops" || fault === "changes"
      ? null
      : { content: [{ ...encodeTokenLogprob(first), top_logprobs: alternatives }], refusal: null };
  const input = prompt.turns.reduce((sum, turn) => sum + countTokens(turn.text), 0);
  const usage = { prompt_tokens: input, completion_tokens: 1, total_tokens: input + 1 };
  const message = {
    role: "assistant",
    content: isRefused ? null : first.token,
    refusal: isRefused ? "I cannot answer that." : null,
  };
  const body = {
    id: provider.nextId("chatcmpl-sim"),
    object: "chat.completion",
    created: provider.nowSeconds(),
    model,
    choices: [{ index: 0, message, logprobs: logprobsContent, finish_reason: isRefused ? "stop" : "length" }],
    ...(fault === "unmetered" ? {} : { usage }),
  };
  return { is: "body", contentType: "application/json", body: JSON.stringify(body), tokens: 1 };
}

/** Labels occur in several spellings, and other tokens keep some probability. */
const LABEL_MASS = 0.98;

function yesNoProbabilities(question: string, context: DecisionContext): TokenProbability[] {
  const yes = yesProbability(question.split("\n")[0] ?? "", context) * LABEL_MASS;
  const no = LABEL_MASS - yes;
  return byProbability([
    { token: "Yes", p: yes * 0.9 },
    { token: " yes", p: yes * 0.1 },
    { token: "No", p: no * 0.9 },
    { token: "no", p: no * 0.1 },
    ...fillerProbabilities(),
  ]);
}

function labelProbabilities(
  labels: readonly { readonly label: string; readonly words: string }[],
  context: DecisionContext,
): TokenProbability[] {
  const shares = optionProbabilities(
    labels.map(({ words }) => words),
    context,
  );
  const tokens = labels.map(({ label }, index) => ({ token: label, p: (shares[index] ?? 0) * LABEL_MASS }));
  return byProbability([...tokens, ...fillerProbabilities()]);
}

/** Shares the remaining mass. */
function fillerProbabilities(): TokenProbability[] {
  return ["The", "**", "Answer", "I", "It", "Based", "\n", "This", "There", "Well", "Let", "Sure"].map(
    (token, index) => ({
      token,
      p: (1 - LABEL_MASS) * 0.5 ** (index + 1),
    }),
  );
}

function byProbability(tokens: readonly TokenProbability[]): TokenProbability[] {
  return tokens.toSorted((a, b) => b.p - a.p);
}

function encodeTokenLogprob({ token, p }: TokenProbability) {
  return { token, logprob: p === 0 ? -9999 : Math.log(p), bytes: [...Buffer.from(token)] };
}
