import { decisionsLane } from "../../io/upstream/decisions-lane.ts";
import type { DecisionCall } from "../../language/decisions/call.ts";
import { type DecisionImage, decodeImage } from "../../language/decisions/image.ts";
import type { DecisionRenderer } from "../../language/decisions/render.ts";
import { failedFinding, type ProbeCall, type ProbeFinding, type ProbeTarget, provenFinding } from "./probe.ts";
import { BLUE_SQUARE, RED_SQUARE } from "./squares.ts";

/** A yes must be this sure, and a no as sure the other way. */
const YES_MIN = 0.8;
const NO_MAX = 0.2;

/** Pictures of two colours must be told apart by at least this much. */
const COLOURS_APART_MIN = 0.6;

type Posed = { readonly state: string; readonly instructions: string; readonly images: readonly DecisionImage[] };

const LIGHT = "Is the light in the kitchen on?";
const ON: Posed = { state: "The light in the kitchen is switched on.", instructions: LIGHT, images: [] };
const OFF: Posed = { state: "The light in the kitchen is switched off.", instructions: LIGHT, images: [] };
const coloured = (square: string): Posed => ({
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
 * The same question about two states whose answers are known, so that one who always says yes is found out. Where the
 * endpoint takes pictures, then about two pictures, because servers that ignore them answer all the same: such a one is
 * proven without them.
 */
export async function proveDecisions(candidate: ProbeTarget, ask: ProbeCall): Promise<ProbeFinding> {
  const used = { inputTokens: 0, outputTokens: 0 };
  const pose: Pose = (posed) => probabilityOf(candidate, posed, ask, used);
  const on = await pose(ON);
  if (typeof on !== "number") return failedFinding(on.why, used);
  if (on < YES_MIN) return failedFinding(`its answer should be yes, and it gives that ${shown(on)}`, used);
  const off = await pose(OFF);
  if (typeof off !== "number") return failedFinding(off.why, used);
  if (off > NO_MAX) return failedFinding(`its answer should be no, and it gives yes ${shown(off)}`, used);
  const words = `it gives yes ${shown(on)} where that is right, and ${shown(off)} where it is wrong`;
  if (candidate.endpoint.decisions?.images == null) return provenFinding(words, used);
  const lacking = await imagesLacking(pose);
  if (lacking === undefined) return provenFinding(`${words}; it tells pictures apart`, used);
  return provenFinding(`${words}; ${lacking}`, { ...used, withoutImages: true });
}

type Pose = (posed: Posed) => Promise<number | { readonly why: string }>;

/** Why nobody should send it pictures; undefined when it tells them apart. */
async function imagesLacking(pose: Pose): Promise<string | undefined> {
  const red = await pose(coloured(RED_SQUARE));
  if (typeof red !== "number") return `with a picture: ${red.why}`;
  const blue = await pose(coloured(BLUE_SQUARE));
  if (typeof blue !== "number") return `with a picture: ${blue.why}`;
  if (red - blue >= COLOURS_APART_MIN) return undefined;
  return `it does not tell pictures apart: ${shown(red)} for red and ${shown(blue)} for blue`;
}

function shown(probability: number): string {
  return probability.toFixed(2);
}

const KEY = "q";

async function probabilityOf(
  { endpoint, model }: ProbeTarget,
  { state, instructions, images }: Posed,
  ask: ProbeCall,
  used: { inputTokens: number; outputTokens: number },
): Promise<number | { readonly why: string }> {
  const posed: DecisionCall = {
    model: endpoint.model,
    state,
    images,
    questions: [{ key: KEY, id: KEY, type: "noul", instructions }],
  };
  let found: number | undefined;
  const client: DecisionRenderer = {
    refusals: "answered",
    render({ answers }) {
      const answer = answers.get(KEY);
      found = answer?.type === "noul" ? answer.noul : undefined;
      return "";
    },
  };
  const asked = await ask(decisionsLane(posed, { endpoint, model, client }));
  if (asked.is === "failed") return asked;
  if (asked.is === "audio") return { why: "it answered with audio" };
  const { usage } = asked.answer;
  // Nobody is ever billed by an estimate.
  if (usage === undefined || usage.inputTokens === 0) return { why: "it does not report what it used" };
  used.inputTokens += usage.inputTokens;
  used.outputTokens += usage.outputTokens;
  asked.answer.render(usage, undefined);
  return found ?? { why: "it declined the question" };
}
