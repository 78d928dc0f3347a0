import type { ChatAsked } from "./chat-request.ts";
import { type Scene, shareAmong, yesTo } from "./decide.ts";
import { misdeedOf } from "./misdeeds.ts";
import { countTokens } from "./tokens.ts";
import type { Delivery, Desk } from "./wire.ts";

type Likely = { readonly token: string; readonly p: number };

/** What the model says first when it is offered labels, and what else it might have said. */
export function decideInChat({ model, prompt, logprobs }: ChatAsked, desk: Desk): Delivery {
  const text = prompt.turns
    .filter(({ by }) => by === "user")
    .map((turn) => turn.text)
    .join("\n");
  const at = text.lastIndexOf("Question:");
  const scene: Scene = { state: text.slice(0, Math.max(at, 0)), colour: null };
  const question = text.slice(Math.max(at, 0));
  const labelled = [...question.matchAll(/^([A-Z]|\d): (.*)$/gm)].map(([, label = "", words = ""]) => ({
    label,
    words,
  }));
  const misdeed = labelled.length === 0 ? undefined : misdeedOf(model);
  const likely = labelled.length === 0 ? yesOrNo(question, scene) : amongLabels(labelled, scene);
  const [first = { token: "", p: 0 }] = likely;
  const refused = misdeed === "refuses";
  const alternatives = likely.slice(0, logprobs ?? 0).map(toldOf);
  const told =
    misdeed === "drops" || misdeed === "changes"
      ? null
      : { content: [{ ...toldOf(first), top_logprobs: alternatives }], refusal: null };
  const input = prompt.turns.reduce((sum, turn) => sum + countTokens(turn.text), 0);
  const usage = { prompt_tokens: input, completion_tokens: 1, total_tokens: input + 1 };
  const message = {
    role: "assistant",
    content: refused ? null : first.token,
    refusal: refused ? "I cannot answer that." : null,
  };
  const body = {
    id: desk.nextId("chatcmpl-sim"),
    object: "chat.completion",
    created: desk.nowSeconds(),
    model,
    choices: [{ index: 0, message, logprobs: told, finish_reason: refused ? "stop" : "length" }],
    ...(misdeed === "unmetered" ? {} : { usage }),
  };
  return { is: "whole", contentType: "application/json", body: JSON.stringify(body), tokens: 1 };
}

/** A label is written in several ways, and something else is always possible. */
const MIND_FOR_LABELS = 0.98;

function yesOrNo(question: string, scene: Scene): Likely[] {
  const yes = yesTo(question.split("\n")[0] ?? "", scene) * MIND_FOR_LABELS;
  const no = MIND_FOR_LABELS - yes;
  return sorted([
    { token: "Yes", p: yes * 0.9 },
    { token: " yes", p: yes * 0.1 },
    { token: "No", p: no * 0.9 },
    { token: "no", p: no * 0.1 },
    ...others(),
  ]);
}

function amongLabels(labelled: readonly { readonly label: string; readonly words: string }[], scene: Scene): Likely[] {
  const shares = shareAmong(
    labelled.map(({ words }) => words),
    scene,
  );
  const likely = labelled.map(({ label }, place) => ({ token: label, p: (shares[place] ?? 0) * MIND_FOR_LABELS }));
  return sorted([...likely, ...others()]);
}

/** Together the rest, each hardly likely. */
function others(): Likely[] {
  return ["The", "**", "Answer", "I", "It", "Based", "\n", "This", "There", "Well", "Let", "Sure"].map(
    (token, place) => ({
      token,
      p: (1 - MIND_FOR_LABELS) * 0.5 ** (place + 1),
    }),
  );
}

function sorted(likely: readonly Likely[]): Likely[] {
  return likely.toSorted((a, b) => b.p - a.p);
}

function toldOf({ token, p }: Likely) {
  return { token, logprob: p === 0 ? -9999 : Math.log(p), bytes: [...Buffer.from(token)] };
}
