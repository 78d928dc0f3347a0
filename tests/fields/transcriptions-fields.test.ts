import { afterAll, beforeAll, expect, test } from "vitest";
import { TranscriptionRequest } from "../../src/contract/schemas/transcriptions.ts";
import type { TranscriptionsEntry } from "../../src/domain/catalogue/transcriptions-support.ts";
import { isJsonObject, type JsonObject } from "../../src/kit/json.ts";
import { TRANSCRIPTION_PARAMETERS } from "../../src/language/transcriptions/call.ts";
import { casesOf } from "../support/field-cases.ts";
import { exchangeOf, type FieldTarget, fieldResults, figuresOf, silentFields } from "../support/field-outcomes.ts";
import { receivedForm, sound, transcribe } from "../support/transcriptions.ts";
import { openTwoProviders, type TwoProviderScene, type TwoProviders } from "../support/two-providers.ts";
import { type ReplySource, sse } from "../support/upstream.ts";

const ALL = { segments: true, words: true, stream: true, seconds: true, parameters: [...TRANSCRIPTION_PARAMETERS] };
const FACTS: readonly (readonly [string, TwoProviders, TranscriptionsEntry])[] = [
  ["openai", "open", { interface: "openai", ...ALL }],
  ["openai-plain", "open", { interface: "openai", segments: true }],
  ["mistral", "shut", { interface: "mistral", ...ALL }],
  ["mistral-plain", "shut", { interface: "mistral", segments: true }],
];

/** Values that a schema cannot tell. */
const SAMPLES: Readonly<Record<string, readonly unknown[]>> = {
  timestamp_granularities: [["segment"], ["word"], ["segment", "word"]],
  include: [["logprobs"]],
};

const TRANSCRIPT = {
  text: "Hello",
  language: "english",
  duration: 2,
  segments: [{ id: 0, start: 0, end: 2, text: "Hello" }],
  words: [{ start: 0, end: 2, word: "Hello" }],
  logprobs: [{ token: "Hello", logprob: -0.1 }],
};
const answering =
  (type: string, delta: string, usage: object): ReplySource =>
  ({ raw }) =>
    raw.includes('name="stream"')
      ? {
          frames: [
            sse({ type: `${type}.text.delta`, [delta]: "Hello" }),
            sse({ type: `${type === "transcript" ? "transcript.text" : type}.done`, text: "Hello", usage }),
          ],
        }
      : { json: { ...TRANSCRIPT, usage } };

let scene: TwoProviderScene;
let key: string;
beforeAll(async () => {
  scene = await openTwoProviders(
    FACTS.map(([name, , transcriptions]) => ({
      name,
      surface: "transcriptions",
      endpoint: { transcriptions, dialects: [], prices: [{ currency: "EUR", per_minute_audio: 0.01 }] },
    })),
  );
  ({ key } = await scene.gateway.tenant({ credit: "1000000" }));
  scene.at("open").always(answering("transcript", "delta", { type: "duration", seconds: 2 }));
  scene.at("shut").always(answering("transcription", "text", { prompt_audio_seconds: 2 }));
});
afterAll(() => scene.close());

/** The fields of a form, as a client of the format sends them. */
function formOf(body: JsonObject): [string, string][] {
  return Object.entries(body).flatMap(([name, value]): [string, string][] => {
    if (name === "file") return [];
    if (Array.isArray(value)) return value.map((one) => [`${name}[]`, String(one)]);
    if (name === "provider" || name === "data_classes") return [[name, JSON.stringify(value)]];
    if (isJsonObject(value)) return Object.entries(value).map(([inner, one]) => [`${name}[${inner}]`, String(one)]);
    return [[name, String(value)]];
  });
}

const target = (adapter: string, provider: TwoProviders, format: FieldTarget["format"]): FieldTarget => ({
  surface: "transcriptions",
  adapter,
  format,
  complete: (body, path) => ({
    ...(path === "timestamp_granularities" ? { response_format: "verbose_json" } : {}),
    ...body,
    model: `lab/${adapter}-${provider}`,
  }),
  async exchange(body) {
    const { requests } = scene.at(provider);
    const before = requests.length;
    const file = { name: `${String(body["file"])}.wav`, bytes: sound(2) };
    const called = await transcribe(scene.gateway, key, formOf(body), file);
    const received = requests.slice(before).map((one) => {
      const form = receivedForm(one);
      return [one.path, form.fields, form.file?.filename];
    });
    return exchangeOf(called, JSON.stringify([received, called.headers.get("content-type"), called.text]));
  },
});

test("PARAM-07 STT-01 no field of a transcription request is dropped silently on any adapter", async ({ annotate }) => {
  const cases = casesOf(TranscriptionRequest, (path) => SAMPLES[path]).filter(({ path }) => path !== "model");
  const results = await Promise.all(
    FACTS.map(([name, provider, { interface: format }]) => fieldResults(target(name, provider, format), cases)),
  );
  await annotate(`transcriptions: ${figuresOf(results.flat())}`);
  expect(silentFields(results.flat())).toEqual([]);
});
