import { afterAll, beforeAll, expect, test } from "vitest";
import { SpeechRequest } from "../../src/contract/schemas/speech.ts";
import type { AudioFormat } from "../../src/language/audio/meter.ts";
import { CONTENT_TYPES } from "../../src/language/speech/call.ts";
import { synthesizeSpeech } from "../../src/sandbox/audio/speech.ts";
import { casesOf } from "../support/field-cases.ts";
import { exchangeOf, type FieldTarget, fieldResults, figuresOf, silentFields } from "../support/field-outcomes.ts";
import type { Json } from "../support/gateway.ts";
import { EVERYTHING, FIVE, openSpeech, RAW, type SpeechProvider, type SpeechScene } from "../support/speech.ts";
import { type ReplySource, sse } from "../support/upstream.ts";

const CHARACTERS = { per_1m_characters: 10 };
const TOKENS = { input_per_1m_tokens: 1, audio_output_per_1m_tokens: 10 };
const audio = (format: AudioFormat) => synthesizeSpeech(format, 0.5);
const pcm = audio("pcm").toString("base64");

type Column = {
  readonly adapter: string;
  readonly format: FieldTarget["format"];
  readonly provider: SpeechProvider;
  readonly row: Omit<Parameters<typeof openSpeech>[0][number], "model" | "provider">;
  readonly answer: ReplySource;
};

/** OpenAI's format with bytes and with events, Mistral's and Gemini's. */
const COLUMNS: readonly Column[] = [
  {
    adapter: "bytes",
    format: "openai",
    provider: "alpha",
    row: { speech: EVERYTHING, price: CHARACTERS },
    answer: ({ json }: { json: Json }) => ({
      body: audio(json.response_format),
      headers: { "content-type": CONTENT_TYPES[json.response_format as AudioFormat] },
    }),
  },
  {
    adapter: "events",
    format: "openai",
    provider: "nowhere",
    row: { speech: EVERYTHING, price: TOKENS },
    answer: ({ json }: { json: Json }) => ({
      frames: [
        sse({ type: "speech.audio.delta", audio: audio(json.response_format).toString("base64") }),
        sse({ type: "speech.audio.done", usage: { input_tokens: 7, output_tokens: 12, total_tokens: 19 } }),
      ],
    }),
  },
  {
    adapter: "mistral",
    format: "mistral",
    provider: "beta",
    row: { speech: FIVE, price: CHARACTERS },
    answer: ({ json }: { json: Json }) => ({
      json: { audio_data: audio(json.response_format).toString("base64") },
    }),
  },
  {
    adapter: "gemini",
    format: "gemini",
    provider: "gamma",
    row: { speech: RAW, price: TOKENS },
    answer: {
      json: {
        candidates: [
          {
            content: { parts: [{ inlineData: { mimeType: "audio/L16;codec=pcm;rate=24000", data: pcm } }] },
            finishReason: "STOP",
          },
        ],
        usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 12, totalTokenCount: 19 },
      },
    },
  },
];

let scene: SpeechScene;
let key: string;
beforeAll(async () => {
  scene = await openSpeech(
    COLUMNS.map(({ adapter, provider, row }) => ({ model: `voice/${adapter}`, provider, ...row })),
  );
  ({ key } = await scene.gateway.tenant({ credit: "1000000" }));
  for (const { provider, answer } of COLUMNS) scene.at(provider).always(answer);
});
afterAll(() => scene.close());

test("PARAM-07 TTS-06 no field of a speech request is dropped silently on any adapter", async ({ annotate }) => {
  const cases = casesOf(SpeechRequest, () => undefined).filter(({ path }) => path !== "model");
  const targets = COLUMNS.map(
    ({ adapter, format, provider }): FieldTarget => ({
      surface: "speech",
      adapter,
      format,
      // A format that all of them serve, unless it is the field under test.
      complete: (body, path) => ({
        ...(path === "response_format" ? {} : { response_format: "wav" }),
        ...body,
        model: `voice/${adapter}`,
      }),
      async exchange(body) {
        const { requests } = scene.at(provider);
        const before = requests.length;
        const { status, headers, error, bytes } = await scene.speak(key, body);
        const received = requests.slice(before).map(({ path, json }) => [path, json]);
        const effect = JSON.stringify([received, headers.get("content-type"), status === 200 ? bytes.length : 0]);
        return exchangeOf({ status, headers, body: { error } }, effect);
      },
    }),
  );
  const results = (await Promise.all(targets.map((target) => fieldResults(target, cases)))).flat();
  await annotate(`speech: ${figuresOf(results)}`);
  expect(silentFields(results)).toEqual([]);
});
