import type { SandboxChatRequest } from "./chat-request.ts";
import { type DecisionContext, optionProbabilities, yesProbability } from "./decision-model.ts";
import { decisionFaultOf } from "./fault-injection.ts";
import { countTokens } from "./tokens.ts";
import type { SimulatedProvider, SimulatedResponse } from "./wire-format.ts";

type TokenProbability = { readonly token: string; readonly p: number };

/** What the model says first when it is offered labels, and what else it might have said. */
export function respondWithDecision(
  { model, prompt, logprobs }: SandboxChatRequest,
  provider: SimulatedProvider,
): SimulatedResponse {
  const text = prompt.turns
    .filter(({ role }) => role === "user")
    .map((turn) => turn.text)
    .join("\n");
  const at = text.lastIndexOf("Question:");
  const scene: DecisionContext = { state: text.slice(0, Math.max(at, 0)), imageColour: null };
  const question = text.slice(Math.max(at, 0));
  const labelled = [...question.matchAll(/^([A-Z]|\d): (.*)$/gm)].map(([, label = "", words = ""]) => ({
    label,
    words,
  }));
  const misdeed = labelled.length === 0 ? undefined : decisionFaultOf(model);
  const likely = labelled.length === 0 ? yesNoProbabilities(question, scene) : labelProbabilities(labelled, scene);
  const [first = { token: "", p: 0 }] = likely;
  const refused = misdeed === "refuses";
  const alternatives = likely.slice(0, logprobs ?? 0).map(encodeTokenLogprob);
  const told =
    misdeed === "drops" || misdeed === "changes"
      ? null
      : { content: [{ ...encodeTokenLogprob(first), top_logprobs: alternatives }], refusal: null };
  const input = prompt.turns.reduce((sum, turn) => sum + countTokens(turn.text), 0);
  const usage = { prompt_tokens: input, completion_tokens: 1, total_tokens: input + 1 };
  const message = {
    role: "assistant",
    content: refused ? null : first.token,
    refusal: refused ? "I cannot answer that." : null,
  };
  const body = {
    id: provider.nextId("chatcmpl-sim"),
    object: "chat.completion",
    created: provider.nowSeconds(),
    model,
    choices: [{ index: 0, message, logprobs: told, finish_reason: refused ? "stop" : "length" }],
    ...(misdeed === "unmetered" ? {} : { usage }),
  };
  return { is: "body", contentType: "application/json", body: JSON.stringify(body), tokens: 1 };
}

/** A label is written in several ways, and something else is always possible. */
const LABEL_MASS = 0.98;

function yesNoProbabilities(question: string, scene: DecisionContext): TokenProbability[] {
  const yes = yesProbability(question.split("\n")[0] ?? "", scene) * LABEL_MASS;
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
  labelled: readonly { readonly label: string; readonly words: string }[],
  scene: DecisionContext,
): TokenProbability[] {
  const shares = optionProbabilities(
    labelled.map(({ words }) => words),
    scene,
  );
  const likely = labelled.map(({ label }, place) => ({ token: label, p: (shares[place] ?? 0) * LABEL_MASS }));
  return byProbability([...likely, ...fillerProbabilities()]);
}

/** Together the rest, each hardly likely. */
function fillerProbabilities(): TokenProbability[] {
  return ["The", "**", "Answer", "I", "It", "Based", "\n", "This", "There", "Well", "Let", "Sure"].map(
    (token, place) => ({
      token,
      p: (1 - LABEL_MASS) * 0.5 ** (place + 1),
    }),
  );
}

function byProbability(likely: readonly TokenProbability[]): TokenProbability[] {
  return likely.toSorted((a, b) => b.p - a.p);
}

function encodeTokenLogprob({ token, p }: TokenProbability) {
  return { token, logprob: p === 0 ? -9999 : Math.log(p), bytes: [...Buffer.from(token)] };
}
