import { decisionsAdapter } from "../../io/upstream/decisions-adapter.ts";
import type { DecisionCall } from "../../language/decisions/call.ts";
import { type DecisionImage, decodeImage } from "../../language/decisions/image.ts";
import type { DecisionRenderer } from "../../language/decisions/render.ts";
import { failedFinding, type ProbeCall, type ProbeFinding, type ProbeTarget, provenFinding } from "./probe.ts";

/** Minimum probability of yes where it is right, and maximum where it is wrong. */
const YES_MIN = 0.8;
const NO_MAX = 0.2;

/** Minimum difference of the probabilities for a red and a blue image. */
const COLOURS_APART_MIN = 0.6;

/** Images of 64 by 64 pixels in one colour. */
export const RED_SQUARE =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAT0lEQVR42u3PQQkAAAgEsAtx/ZMZxgi+hcEKLNO+FgEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQGBywKqxUDxqh7TUQAAAABJRU5ErkJggg==";
export const BLUE_SQUARE =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAUElEQVR42u3PQQkAAAgEsAthCPvnMYwRfAuDFViq57UICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICFwWbcSBAMU++S8AAAAASUVORK5CYII=";

type YesNoQuestion = {
  readonly state: string;
  readonly instructions: string;
  readonly images: readonly DecisionImage[];
};

const LIGHT = "Is the light in the kitchen on?";
const ON: YesNoQuestion = { state: "The light in the kitchen is switched on.", instructions: LIGHT, images: [] };
const OFF: YesNoQuestion = { state: "The light in the kitchen is switched off.", instructions: LIGHT, images: [] };
const colourQuestion = (square: string): YesNoQuestion => ({
  state: "One picture is attached.",
  instructions: "Is the picture mostly red?",
  images: [imageOf(square)],
});

function imageOf(url: string): DecisionImage {
  const image = decodeImage(url);
  if ("problem" in image) throw new Error(`a square for proofs ${image.problem}`);
  return image;
}

/**
 * Asks the same question about two states with known answers, which detects endpoints that always say yes. An endpoint
 * with image input is also asked about two images, because servers that ignore images answer anyway: it is then proven
 * without images.
 */
export async function proveDecisions(target: ProbeTarget, call: ProbeCall): Promise<ProbeFinding> {
  const used = { inputTokens: 0, outputTokens: 0 };
  const ask: AskQuestion = (question) => probabilityOf(target, question, call, used);
  const on = await ask(ON);
  if (typeof on !== "number") return failedFinding(on.why, used);
  if (on < YES_MIN) return failedFinding(`expected yes, but its probability is ${formatProbability(on)}`, used);
  const off = await ask(OFF);
  if (typeof off !== "number") return failedFinding(off.why, used);
  if (off > NO_MAX) return failedFinding(`expected no, but the probability of yes is ${formatProbability(off)}`, used);
  const reason = `probability of yes: ${formatProbability(on)} if correct, ${formatProbability(off)} if incorrect`;
  if (target.endpoint.decisions?.images == null) return provenFinding(reason, used);
  const problem = await imageProblem(ask);
  if (problem === undefined) return provenFinding(`${reason}; it distinguishes images`, used);
  return provenFinding(`${reason}; ${problem}`, { ...used, withoutImages: true });
}

type AskQuestion = (question: YesNoQuestion) => Promise<number | { readonly why: string }>;

/** Why the endpoint must not get images; undefined: it distinguishes them. */
async function imageProblem(ask: AskQuestion): Promise<string | undefined> {
  const red = await ask(colourQuestion(RED_SQUARE));
  if (typeof red !== "number") return `with a picture: ${red.why}`;
  const blue = await ask(colourQuestion(BLUE_SQUARE));
  if (typeof blue !== "number") return `with a picture: ${blue.why}`;
  if (red - blue >= COLOURS_APART_MIN) return undefined;
  return `it does not distinguish images: ${formatProbability(red)} for red and ${formatProbability(blue)} for blue`;
}

function formatProbability(probability: number): string {
  return probability.toFixed(2);
}

const QUESTION_KEY = "q";

async function probabilityOf(
  { endpoint, model }: ProbeTarget,
  { state, instructions, images }: YesNoQuestion,
  call: ProbeCall,
  used: { inputTokens: number; outputTokens: number },
): Promise<number | { readonly why: string }> {
  const decisionCall: DecisionCall = {
    model: endpoint.model,
    state,
    images,
    questions: [{ key: QUESTION_KEY, id: QUESTION_KEY, type: "noul", instructions }],
  };
  let probability: number | undefined;
  const client: DecisionRenderer = {
    refusals: "answered",
    render({ answers }) {
      const answer = answers.get(QUESTION_KEY);
      probability = answer?.type === "noul" ? answer.noul : undefined;
      return "";
    },
  };
  const result = await call(decisionsAdapter(decisionCall, { endpoint, model, client }));
  if (result.is === "failed") return result;
  if (result.is === "audio") return { why: "it responded with audio" };
  const { usage } = result.answer;
  // Charges are never based on estimates.
  if (usage === undefined || usage.inputTokens === 0) return { why: "it does not report usage" };
  used.inputTokens += usage.inputTokens;
  used.outputTokens += usage.outputTokens;
  result.answer.render(usage, undefined);
  return probability ?? { why: "it declined the question" };
}
