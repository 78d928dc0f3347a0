import { inflateSync } from "node:zlib";

/** What a question is about: the words of the state, and the colour of the first picture where there is one. */
export type DecisionContext = { readonly state: string; readonly imageColour: ImageColour | null };

export type ImageColour = "red" | "green" | "blue";

/** Words that say nothing of what a question is about. */
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

/** The probability of yes: a word and its opposite decide, else how much of the question stands in the state. */
export function yesProbability(question: string, { state, imageColour }: DecisionContext): number {
  const asked = wordsIn(question);
  const said = new Set(wordsIn(state));
  const wanted = COLOURS.find((name) => asked.includes(name));
  if (imageColour !== null && wanted !== undefined)
    return wanted === imageColour ? HIGH_PROBABILITY : 1 - HIGH_PROBABILITY;
  for (const word of asked) {
    const opposite = OPPOSITES.get(word);
    if (opposite === undefined || said.has(word) === said.has(opposite)) continue;
    return said.has(word) ? HIGH_PROBABILITY : 1 - HIGH_PROBABILITY;
  }
  const telling = asked.filter((word) => !STOP_WORDS.has(word));
  const share = telling.length === 0 ? 0.5 : telling.filter((word) => said.has(word)).length / telling.length;
  const isDenied = said.has("not") || said.has("never");
  const likely = 1 - HIGH_PROBABILITY + (2 * HIGH_PROBABILITY - 1) * share;
  return isDenied ? 1 - likely : likely;
}

/** How likely each of several texts is: by how many of its words stand in the state. */
export function optionProbabilities(texts: readonly string[], { state }: DecisionContext): number[] {
  const said = new Set(wordsIn(state));
  const weights = texts.map((text, place) => {
    const found = new Set(wordsIn(text).filter((word) => !STOP_WORDS.has(word) && said.has(word))).size;
    // Never quite the same, so that the same question always has the same first choice.
    return (1 + 4 * found) ** 2 + ((place * 7) % 5) / 100;
  });
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

export function roundTo(value: number, decimals: number): number {
  return Number(value.toFixed(decimals));
}

/** What a picture of a data URL is mostly of, by its first pixel; null where it cannot be seen. */
export function imageColourOf(url: string): ImageColour | null {
  const base64 = /^data:image\/png;base64,(.*)$/s.exec(url)?.[1];
  if (base64 === undefined) return null;
  const pixel = firstPixel(Buffer.from(base64, "base64"));
  if (pixel === undefined) return null;
  const [red = 0, green = 0, blue = 0] = pixel;
  const most = Math.max(red, green, blue);
  return most === red ? "red" : most === green ? "green" : "blue";
}

/** The first pixel stands in a PNG as it is, whatever filter its line has. */
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
