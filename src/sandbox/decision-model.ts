import { inflateSync } from "node:zlib";

/** The state's text, and the dominant colour of the first image if there is one. */
export type DecisionContext = { readonly state: string; readonly imageColour: ImageColour | null };

export type ImageColour = "red" | "green" | "blue";

const STOP_WORDS: ReadonlySet<string> = new Set(
  "a an and are at be by does do for from has have in is it its of or that the this to was were what which with".split(
    " ",
  ),
);

const OPPOSITES: ReadonlyMap<string, string> = new Map(
  [
    ["on", "off"],
    ["open", "closed"],
    ["yes", "no"],
    ["true", "false"],
    ["hot", "cold"],
    ["happy", "angry"],
  ].flatMap(([one = "", other = ""]) => [
    [one, other],
    [other, one],
  ]),
);

const COLOURS: readonly ImageColour[] = ["red", "green", "blue"];
const HIGH_PROBABILITY = 0.97;

function wordsIn(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** P(yes): decided by a word or its opposite in the state, else by the share of question words in the state. */
export function yesProbability(question: string, { state, imageColour }: DecisionContext): number {
  const questionWords = wordsIn(question);
  const stateWords = new Set(wordsIn(state));
  const questionColour = COLOURS.find((name) => questionWords.includes(name));
  if (imageColour !== null && questionColour !== undefined)
    return questionColour === imageColour ? HIGH_PROBABILITY : 1 - HIGH_PROBABILITY;
  for (const word of questionWords) {
    const opposite = OPPOSITES.get(word);
    if (opposite === undefined || stateWords.has(word) === stateWords.has(opposite)) continue;
    return stateWords.has(word) ? HIGH_PROBABILITY : 1 - HIGH_PROBABILITY;
  }
  const contentWords = questionWords.filter((word) => !STOP_WORDS.has(word));
  const share =
    contentWords.length === 0 ? 0.5 : contentWords.filter((word) => stateWords.has(word)).length / contentWords.length;
  const isNegated = stateWords.has("not") || stateWords.has("never");
  const probability = 1 - HIGH_PROBABILITY + (2 * HIGH_PROBABILITY - 1) * share;
  return isNegated ? 1 - probability : probability;
}

/** Weights each option by the number of its words in the state. */
export function optionProbabilities(texts: readonly string[], { state }: DecisionContext): number[] {
  const stateWords = new Set(wordsIn(state));
  const weights = texts.map((text, place) => {
    const found = new Set(wordsIn(text).filter((word) => !STOP_WORDS.has(word) && stateWords.has(word))).size;
    // A small offset per index makes the order deterministic.
    return (1 + 4 * found) ** 2 + ((place * 7) % 5) / 100;
  });
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

export function roundTo(value: number, decimals: number): number {
  return Number(value.toFixed(decimals));
}

/** The dominant colour of the first pixel; null when it cannot be decoded. */
export function imageColourOf(url: string): ImageColour | null {
  const base64 = /^data:image\/png;base64,(.*)$/s.exec(url)?.[1];
  if (base64 === undefined) return null;
  const pixel = firstPixel(Buffer.from(base64, "base64"));
  if (pixel === undefined) return null;
  const [red = 0, green = 0, blue = 0] = pixel;
  const strongest = Math.max(red, green, blue);
  return strongest === red ? "red" : strongest === green ? "green" : "blue";
}

/** The first pixel of a PNG is unfiltered whatever filter its row has. */
function firstPixel(png: Buffer): Buffer | undefined {
  const data: Buffer[] = [];
  let palette: Buffer | undefined;
  for (let at = 8; at + 12 <= png.length; at += 12 + png.readUInt32BE(at)) {
    const content = png.subarray(at + 8, at + 8 + png.readUInt32BE(at));
    const name = png.toString("latin1", at + 4, at + 8);
    if (name === "PLTE") palette = content;
    if (name === "IDAT") data.push(content);
  }
  try {
    const pixels = inflateSync(Buffer.concat(data), { maxOutputLength: 64 * 1024 * 1024 });
    const isIndexed = png[25] === 3;
    if (!isIndexed) return pixels.subarray(1, 4);
    const place = 3 * ((pixels[1] ?? 0) >> (8 - (png[24] ?? 8)));
    return palette?.subarray(place, place + 3);
  } catch {
    return undefined;
  }
}
