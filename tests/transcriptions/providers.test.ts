import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { synthesizeSpeech } from "../../src/sandbox/audio/speech.ts";
import { mp4 } from "../support/audio/mp4.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { loadExchange, scriptOf } from "../support/replay.ts";
import { chunksOf, openScene, type Provider, type Scene } from "../support/scene.ts";
import {
  fieldPart,
  filePart,
  formBytes,
  receivedForm,
  sound,
  startUpload,
  transcribe,
} from "../support/transcriptions.ts";
import { sse } from "../support/upstream.ts";

const WHISPER = "openai/whisper-1";
const GPT = "openai/gpt-4o-transcribe";
const VOXTRAL = "mistral/voxtral-mini-2602";
const SHARED = "openai/whisper-large-v3";

const EVENTS = { "content-type": "text/event-stream" };

let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openScene(["openai", "mistral", "groq", "scaleway"]);
});
afterAll(() => scene.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant({ credit: "10" });
});

const lastOf = (provider: Provider) => {
  const received = scene.at(provider).requests.at(-1);
  if (received === undefined) throw new Error(`${provider} received no request`);
  return received;
};
const requestCount = (provider: Provider) => scene.at(provider).requests.length;
const send = (fields: Record<string, string>, file = { name: "speech.wav", bytes: sound(2) }) =>
  transcribe(scene.gateway, tenant.key, Object.entries(fields), file);

async function chargedNanos(): Promise<bigint> {
  const [charge] = await scene.charges(tenant);
  return charge?.nanos ?? 0n;
}

/** Euros for a price in dollars, at the shipped rates. */
async function inEuros(dollars: number): Promise<bigint> {
  const { data } = (await scene.gateway.call("", "/v1/public/currencies")).body;
  const usd = data.find(({ code }: Json) => code === "USD");
  const perEur = Number(usd.per_eur ?? usd.rate_per_eur ?? usd.rate);
  return BigInt(Math.round((dollars / perEur) * 1e9));
}

describe("recorded traffic", () => {
  const recorded = (name: string) => {
    const [only] = loadExchange(`audio-transcription/${name}`).interactions;
    if (only === undefined) throw new Error("an empty recording");
    const form = receivedForm({ raw: only.request.body, headers: only.request.headers });
    return { only, form, file: { name: form.file?.filename ?? "", bytes: form.file?.body ?? Buffer.alloc(0) } };
  };

  test("STT-01 whisper-1: the same parts reach the provider, and its seconds are billed", async () => {
    const { only, form, file } = recorded("openai-whisper-json");
    scene.at("openai").next(scriptOf(only));
    const answer = await send({ model: WHISPER }, file);
    expect(answer.body).toEqual({
      text: "Ruby is a programming language designed for developer happiness.",
      usage: { type: "duration", seconds: 4, cost: expect.any(Number), currency: "EUR" },
    });
    const received = lastOf("openai");
    expect(received.path).toBe("/v1/audio/transcriptions");
    const sent = receivedForm(received);
    expect(sent.fields).toEqual([...form.fields, ["response_format", "json"]]);
    expect(sent.file?.filename).toBe(form.file?.filename);
    expect(sent.file?.body.equals(file.bytes)).toBe(true);
    expect(sent.names.at(-1)).toBe("file");
    expect(await chargedNanos()).toBe(await inEuros((4 * 0.006) / 60));
  });

  test("STT-01 gpt-4o-transcribe: its events pass, and its tokens are billed", async () => {
    const { only, form, file } = recorded("openai-4o-stream");
    scene.at("openai").next(scriptOf(only));
    const answer = await send({ model: GPT, stream: "true" }, file);
    expect(answer.headers.get("content-type")).toContain("text/event-stream");
    const recordedChunks = chunksOf(only.response.body.toString("utf8").replaceAll("\r\n", "\n"));
    const receivedChunks = chunksOf(answer.text);
    expect(receivedChunks.slice(0, -1)).toEqual(recordedChunks.slice(0, -1));
    const { usage, ...last } = recordedChunks.at(-1);
    expect(receivedChunks.at(-1)).toEqual({ ...last, usage: { ...usage, cost: expect.any(Number), currency: "EUR" } });
    expect(answer.text.endsWith("data: [DONE]\n\n")).toBe(true);
    expect(receivedForm(lastOf("openai")).fields).toEqual(expect.arrayContaining(form.fields));
    expect(await chargedNanos()).toBe(await inEuros((37 * 2.5 + 12 * 10) / 1e6));
  });

  test("STT-01 Voxtral: its JSON in the callers' format, its seconds billed", async () => {
    const { only, form, file } = recorded("mistral-json");
    scene.at("mistral").next(scriptOf(only));
    const answer = await send({ model: VOXTRAL }, file);
    expect(answer.body).toMatchObject({
      text: "Ruby is a programming language designed for developer happiness.",
      usage: { type: "duration", seconds: 3 },
    });
    const sent = receivedForm(lastOf("mistral"));
    expect(sent.names).toEqual(form.names);
    expect(sent.file?.body.equals(file.bytes)).toBe(true);
    expect(await chargedNanos()).toBe(await inEuros((3 * 0.003) / 60));
  });
});

const SEGMENTS = [
  { id: 0, start: 0, end: 1.25, text: " Hello <there>", avg_logprob: -0.2 },
  { id: 1, start: 1.25, end: 2, text: " & bye\n\n-->" },
];
const verbose = {
  task: "transcribe",
  language: "english",
  duration: 2,
  text: "Hello <there> & bye",
  segments: SEGMENTS,
};

describe("formats", () => {
  const usage = { type: "duration", seconds: 2, cost: 0.000176045, currency: "EUR" };
  const groqUsage = { type: "duration", seconds: 2.5, cost: expect.any(Number), currency: "EUR" };
  const PLAIN = "text/plain; charset=utf-8";
  const SUBTITLES =
    "1\n00:00:00,000 --> 00:00:01,250\nHello <there>\n\n2\n00:00:01,250 --> 00:00:02,000\n& bye\n->\n\n";
  const CUES =
    "00:00:00.000 --> 00:00:01.250\nHello &lt;there&gt;\n\n00:00:01.250 --> 00:00:02.000\n&amp; bye\n-&gt;\n\n";
  test.each([
    ["json", "application/json", JSON.stringify({ text: verbose.text, usage })],
    ["verbose_json", "application/json", JSON.stringify({ ...verbose, usage })],
    ["text", PLAIN, "Hello <there> & bye\n"],
    ["srt", PLAIN, SUBTITLES],
    ["vtt", PLAIN, `WEBVTT\n\n${CUES}`],
  ])("STT-01 %s is %s", async (format, type, text) => {
    scene.at("openai").next({ json: verbose });
    const answer = await send({ model: WHISPER, response_format: format });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, type]);
    const wanted = format === "json" || format === "text" ? "json" : "verbose_json";
    expect(receivedForm(lastOf("openai")).fields).toContainEqual(["response_format", wanted]);
    if (type === PLAIN) expect(answer.text).toBe(text);
    else expect(answer.body).toEqual(JSON.parse(text));
  });

  test.each([
    ["json", (answer: Json) => expect(answer.body).toEqual({ text: verbose.text, usage: groqUsage })],
    ["text", (answer: Json) => expect(answer.text).toBe(`${verbose.text}\n`)],
  ])(
    "STT-01 BILL-02 %s from a provider that reports duration only with timestamps: they are requested and not shown",
    async (format, shown) => {
      scene.at("groq").next({ json: { ...verbose, duration: 2.5 } });
      const answer = await send({ model: SHARED, response_format: format });
      shown(answer);
      expect(receivedForm(lastOf("groq")).fields).toEqual([
        ["model", "whisper-large-v3"],
        ["response_format", "verbose_json"],
      ]);
      expect(await chargedNanos()).toBe(await inEuros((2.5 * 0.00185) / 60));
    },
  );

  test("STT-01 Mistral's segments become subtitles and verbose_json", async () => {
    const reply = { text: "Bonjour", language: "fr", usage: { prompt_audio_seconds: 2 } };
    const segments = [{ type: "transcription_segment", start: 0, end: 1.5, text: "Bonjour" }];
    scene.at("mistral").next({ json: { ...reply, segments } });
    const answer = await send({ model: VOXTRAL, response_format: "verbose_json" });
    expect(answer.body).toEqual({
      task: "transcribe",
      language: "fr",
      duration: 2,
      text: "Bonjour",
      segments: [{ id: 0, start: 0, end: 1.5, text: "Bonjour" }],
      usage: { type: "duration", seconds: 2, cost: expect.any(Number), currency: "EUR" },
    });
    expect(receivedForm(lastOf("mistral")).fields).toContainEqual(["timestamp_granularities", "segment"]);
    expect(receivedForm(lastOf("mistral")).fields.map(([name]) => name)).not.toContain("response_format");
  });

  test("STT-01 a reply without the requested segments is rejected: the next endpoint is called", async () => {
    scene.at("groq").next({ json: { text: "Hello" } });
    const answer = await send({ model: SHARED, response_format: "srt" });
    expect([answer.status, answer.body.error.code]).toEqual([502, "upstream_error"]);
    expect(await scene.charges(tenant)).toEqual([]);
  });

  test("STT-01 Mistral's events are translated", async () => {
    const events = [
      { type: "transcription.language", audio_language: "en" },
      { type: "transcription.text.delta", text: "Hel" },
      { type: "transcription.text.delta", text: "lo" },
      { type: "transcription.segment", text: "Hello", start: 0, end: 1, speaker_id: "s1" },
      { type: "transcription.done", text: "Hello", language: "en", segments: [], usage: { prompt_audio_seconds: 2 } },
    ];
    const frames = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    scene.at("mistral").next({ frames, slices: "bytes" });
    const answer = await send({ model: VOXTRAL, stream: "true" });
    expect(chunksOf(answer.text)).toEqual([
      { type: "transcript.text.delta", delta: "Hel" },
      { type: "transcript.text.delta", delta: "lo" },
      { type: "transcript.text.segment", start: 0, end: 1, text: "Hello", speaker: "s1" },
      {
        type: "transcript.text.done",
        text: "Hello",
        usage: { type: "duration", seconds: 2, cost: expect.any(Number), currency: "EUR" },
      },
    ]);
    expect(answer.text.endsWith("data: [DONE]\n\n")).toBe(true);
  });

  const delta = (text: string) => sse({ type: "transcription.text.delta", text });
  const segment = (start: number, end: number) => sse({ type: "transcription.segment", start, end, text: " words" });
  const longByClock = mp4("mp4a", { samples: 150, bytes: 1_200, units: 1_024, unitsPerSecond: 16_000 });

  test.each([
    ["what was measured", sound(60), [delta("words ".repeat(1_000))], 60, false],
    ["the measured duration, with little text", longByClock, [delta("Hello"), segment(0, 4)], 9.6, false],
    ["up to the last segment, in a file that may be longer", longByClock, [segment(0, 60)], 60, true],
    ["the minimum duration for its words", longByClock, [delta("words ".repeat(319))], 60, true],
    ["at most the duration that its size allows", longByClock, [delta("words ".repeat(10_000))], 371.64, true],
    ["the same, with a segment that ends later", longByClock, [segment(9, 5_000)], 371.64, true],
  ])(
    "CHAT-09 STT-01 a client that disconnects from a transcript billed by duration pays for %s and no tokens",
    async (_, file, events, seconds, estimated) => {
      const { promise: gate } = Promise.withResolvers<void>();
      const frames = [...events, delta("last"), { data: "never", afterMs: 0, gate }];
      scene.at("mistral").next({ frames, headers: EVENTS });
      const request = startUpload(scene.gateway, tenant.key);
      const lastDelta = new Promise<void>((resolve) => {
        request.on("response", (answer) =>
          answer.on("error", () => undefined).on("data", (chunk) => String(chunk).includes("last") && resolve()),
        );
      });
      const fields = Object.entries({ model: "mistral/voxtral-small-2507", stream: "true" });
      request.end(formBytes([...fields.map(([name, value]) => fieldPart(name, value)), filePart(file)]));
      await lastDelta;
      request.destroy();
      const [row] = await scene.rowsOnce(tenant, 1);
      const { usage } = await scene.row(row.id);
      expect(usage).toMatchObject({ input_tokens: 0, seconds, estimated });
      expect(await chargedNanos()).toBe(await inEuros((0.004 * seconds) / 60));
    },
  );

  test("CHAT-09 STT-01 a file of unknown duration is not streamed where duration is billed, because a disconnect would be free", async () => {
    const file = { name: "x.mp3", bytes: Buffer.alloc(50_000, 7) };
    const before = requestCount("mistral");
    const { status, body } = await send({ model: VOXTRAL, stream: "true" }, file);
    expect([status, body.error.code, body.error.param]).toEqual([400, "invalid_value", "file"]);
    expect(body.error.message).toContain("without stream");
    expect(requestCount("mistral")).toBe(before);
    scene.at("mistral").next({ json: { text: "Hi", usage: { prompt_audio_seconds: 7 } } });
    expect((await send({ model: VOXTRAL }, file)).body.usage.seconds).toBe(7);
  });

  test("STT-01 ERR-02 a broken stream ends with an error frame and is not charged", async () => {
    const first = sse({ type: "transcript.text.delta", delta: "Hel" });
    scene.at("openai").next({ frames: [first], end: { is: "cut", after: Buffer.byteLength(first) } });
    const answer = await send({ model: GPT, stream: "true" });
    const id = answer.headers.get("x-svc-request-id");
    expect(answer.status).toBe(200);
    expect(chunksOf(answer.text).at(-1).error).toMatchObject({ code: "upstream_error", request_id: id });
    expect(answer.text).not.toContain("[DONE]");
    expect(await scene.charges(tenant)).toEqual([]);
  });
});

describe("a parameter that the endpoint does not support is refused by name before any provider is called", () => {
  test.each([
    [GPT, { response_format: "srt" }, "response_format"],
    [GPT, { response_format: "verbose_json" }, "response_format"],
    [WHISPER, { stream: "true" }, "stream"],
    [WHISPER, { "include[]": "logprobs" }, "include"],
    [WHISPER, { chunking_strategy: "auto" }, "chunking_strategy"],
    [WHISPER, { "keywords[]": "Ruby" }, "keywords"],
    [WHISPER, { "known_speaker_names[]": "agent" }, "known_speaker_names"],
    [VOXTRAL, { prompt: "Ruby" }, "prompt"],
    [VOXTRAL, { response_format: "vtt", language: "fr" }, "language"],
    [VOXTRAL, { response_format: "verbose_json", "timestamp_granularities[]": "word" }, "timestamp_granularities"],
  ])("STT-01 %s with %o: 400 unsupported_parameter %s", async (model, fields, param) => {
    const before = requestCount("openai") + requestCount("mistral");
    const answer = await send({ model, ...fields });
    expect([answer.status, answer.body.error.code, answer.body.error.param], answer.text).toEqual([
      400,
      "unsupported_parameter",
      param,
    ]);
    expect(answer.body.error.message).toContain(model);
    expect(requestCount("openai") + requestCount("mistral")).toBe(before);
  });

  test("STT-01 priced tokens of audio and prompt are billed, and reported whole and in the last event", async () => {
    const usage = {
      type: "tokens",
      input_tokens: 40,
      input_token_details: { text_tokens: 3, audio_tokens: 37 },
      output_tokens: 12,
      total_tokens: 52,
    };
    const expected = { text: "Hi", usage: { ...usage, cost: expect.any(Number), currency: "EUR" } };
    scene.at("openai").next({ json: { text: "Hi", usage } });
    expect((await send({ model: GPT })).body).toEqual(expected);
    expect(await chargedNanos()).toBe(await inEuros((40 * 2.5 + 12 * 10) / 1e6));
    const done = { type: "transcript.text.done", text: "Hi", usage };
    scene.at("openai").next({ frames: [sse({ type: "transcript.text.delta", delta: "Hi" }), sse(done)] });
    const events = chunksOf((await send({ model: GPT, stream: "true" })).text);
    expect(events.at(-1)).toEqual({ type: "transcript.text.done", ...expected });
    expect(await scene.charges(tenant)).toHaveLength(2);
  });

  test("STT-01 BILL-02 an implausible token count for the file is rejected", async () => {
    const usage = { type: "tokens", input_tokens: 50_000, output_tokens: 12 };
    scene.at("openai").next({ json: { text: "Hi", usage } });
    const { body } = await send({ model: GPT });
    expect(body.usage).toMatchObject({ input_tokens: 375, output_tokens: 1 });
  });

  test("STT-01 supported parameters reach it", async () => {
    scene.at("openai").next({ json: { text: "Hi", logprobs: [{ token: "Hi", logprob: -0.1 }] } });
    const fields = { language: "en", prompt: "A greeting", temperature: "0.5", "include[]": "logprobs" };
    const vad = { "chunking_strategy[type]": "server_vad", "chunking_strategy[threshold]": "0.5" };
    const answer = await send({ model: GPT, ...fields, ...vad });
    expect(answer.body).toMatchObject({ text: "Hi", logprobs: [{ token: "Hi", logprob: -0.1 }] });
    expect(receivedForm(lastOf("openai")).fields).toEqual([
      ["model", "gpt-4o-transcribe"],
      ["response_format", "json"],
      ...Object.entries(fields),
      ...Object.entries(vad),
    ]);
  });
});

describe("the file", () => {
  test("STT-01 ROUTE-04 is sent again, whole and with its exact length, to the next endpoint", async () => {
    const bytes = sound(60);
    scene.at("groq").next({ status: 503, json: { error: { message: "busy" } } });
    scene.at("scaleway").next({ json: { text: "Hello" } });
    const answer = await send({ model: SHARED }, { name: "a long one.wav", bytes });
    expect(answer.body.text).toBe("Hello");
    for (const provider of ["groq", "scaleway"] as const) {
      const received = lastOf(provider);
      expect(received.headers["content-length"]).toBe(String(received.raw.length));
      const { file } = receivedForm(received);
      expect(file?.filename).toBe("a long one.wav");
      expect(file?.body.equals(bytes)).toBe(true);
    }
    expect(lastOf("groq").headers["content-type"]).not.toBe(lastOf("scaleway").headers["content-type"]);
  });

  test("STT-01 neither a name nor the bytes can inject another form field", async () => {
    scene.at("openai").next({ json: { text: "Hi" } });
    const inner = '\r\n--x\r\nContent-Disposition: form-data; name="model"\r\n\r\ngpt-4o-transcribe\r\n--x--\r\n';
    const bytes = Buffer.concat([sound(1), Buffer.from(inner)]);
    await send({ model: WHISPER }, { name: 'a"; name="model.wav', bytes });
    const { fields, file } = receivedForm(lastOf("openai"));
    expect(fields).toEqual([
      ["model", "whisper-1"],
      ["response_format", "json"],
    ]);
    expect(file?.body.equals(bytes)).toBe(true);
  });
});

describe("money", () => {
  test("STT-01 an impossible duration is not billed: above the limit by file size, or far below the measured one", async () => {
    const bytes = synthesizeSpeech("mp3", 24);
    const billed = async (seconds: number) => {
      scene.at("openai").next({ json: { text: "Hi", usage: { type: "duration", seconds } } });
      return (await send({ model: WHISPER }, { name: "a.mp3", bytes })).body.usage.seconds;
    };
    expect(await billed(3600)).toBe(24);
    expect(await billed(1)).toBe(24);
  });

  test("STT-01 BILL-03 a reported millisecond duration of a file that may be longer: the measured duration is charged", async () => {
    const bytes = synthesizeSpeech("opus", 60);
    scene.at("openai").next({ json: { text: "Hi", duration: 60_000 } });
    const answer = await send({ model: WHISPER }, { name: "a.ogg", bytes });
    expect(answer.body.usage.seconds).toBe(60);
    expect(await chargedNanos()).toBe(await inEuros(0.006));
  });

  test("STT-01 without a reported duration the measured one is billed, to the millisecond", async () => {
    scene.at("groq").next({ json: { text: "Hi", x_groq: { id: "req_1" } } });
    const answer = await send({ model: SHARED }, { name: "a.wav", bytes: sound(1.25) });
    expect(answer.body.usage).toMatchObject({ type: "duration", seconds: 1.25 });
    expect(await chargedNanos()).toBe(await inEuros((1.25 * 0.00185) / 60));
  });

  const unmeasurable = { name: "speech.amr", bytes: Buffer.from(`#!AMR\n${"x".repeat(5000)}`) };

  test("STT-01 a file of unknown duration goes only to providers that report it", async () => {
    const before = requestCount("scaleway");
    const refused = await send({ model: SHARED, provider: '{"only":["scaleway"]}' }, unmeasurable);
    expect([refused.status, refused.body.error.code]).toEqual([403, "no_eligible_endpoint"]);
    expect(requestCount("scaleway")).toBe(before);
    scene.at("openai").next({ json: { text: "Hi", usage: { type: "duration", seconds: 7 } } });
    expect((await send({ model: WHISPER }, unmeasurable)).body.usage.seconds).toBe(7);
    scene.at("openai").next({ json: { text: "Hi" } });
    const silent = await send({ model: WHISPER }, unmeasurable);
    expect([silent.status, silent.body.error.code]).toEqual([502, "upstream_error"]);
    expect(await scene.charges(tenant)).toHaveLength(1);
  });

  test.each(["json", "text", "srt"])(
    "STT-01 BILL-02 as %s also to a provider that reports it only with timestamps, since they are requested",
    async (format) => {
      const before = requestCount("scaleway");
      scene.at("groq").next({ json: { ...verbose, duration: 9 } });
      const answer = await send({ model: SHARED, response_format: format }, unmeasurable);
      expect([answer.status, requestCount("scaleway")]).toEqual([200, before]);
      expect(await chargedNanos()).toBe(await inEuros((9 * 0.00185) / 60));
    },
  );

  test("BILL-03 the hold covers the file: without credit no provider is called", async () => {
    const poor = await scene.gateway.tenant({ credit: "0.0001" });
    const before = requestCount("openai");
    const answer = await transcribe(scene.gateway, poor.key, [["model", WHISPER]], {
      name: "a.wav",
      bytes: sound(60),
    });
    expect([answer.status, answer.body.error.code]).toEqual([402, "insufficient_credits"]);
    expect(requestCount("openai")).toBe(before);
  });

  test("BILL-09 the same form with the same key is charged once, another file is refused", async () => {
    scene.at("openai").always({ json: { text: "Hi" } });
    const headers = { "idempotency-key": "minutes of monday" };
    const fields = [["model", WHISPER]] as const;
    const once = (bytes: Buffer) => transcribe(scene.gateway, tenant.key, fields, { name: "a.wav", bytes }, headers);
    const before = requestCount("openai");
    expect((await once(sound(1))).status).toBe(200);
    const again = await once(sound(1));
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect([(await once(sound(2))).status, requestCount("openai") - before]).toEqual([422, 1]);
    expect(await scene.charges(tenant)).toHaveLength(1);
  });
});

test("POL-02 ERR-08 policy applies: an excluded provider receives nothing of the file, and the refusal names the rule", async () => {
  const before = requestCount("groq");
  await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { blocked_providers: ["groq"] });
  scene.at("scaleway").next({ json: { text: "Hi", duration: 2 } });
  const served = await send({ model: SHARED });
  expect([served.status, served.headers.get("x-svc-provider")], served.text).toEqual([200, "scaleway"]);
  const { attempts } = await scene.row(served.headers.get("x-svc-request-id") ?? "");
  expect(attempts.map(({ provider }: Json) => provider)).toEqual(["scaleway"]);
  await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { floor: "L4" });
  const refused = await send({ model: SHARED });
  expect([refused.status, refused.body.error.code]).toEqual([403, "sovereignty_floor_not_met"]);
  expect(requestCount("groq")).toBe(before);
});

describe("stored data", () => {
  test("LOG-01 the log has duration, size and format, and no content", async () => {
    scene.at("openai").next({ json: { text: "A secret word" } });
    const bytes = sound(2);
    const answer = await send({ model: WHISPER, prompt: "another secret" }, { name: "private name.wav", bytes });
    const row = await scene.row(answer.headers.get("x-svc-request-id") ?? "");
    expect(row.surface).toBe("transcriptions");
    expect(row.detail).toEqual({ format: "json", bytes: bytes.length, seconds: 2 });
    expect(JSON.stringify(row)).not.toMatch(/secret|private name/);
  });

  test.each(["text", "srt", "vtt"])(
    "LOG-03 a capture window stores text about audio and video as %s",
    async (format) => {
      await scene.gateway.manage("POST", `/workspaces/${tenant.slug}/capture-windows`, { minutes: 5 });
      const text = "Turn the audio up: data:audio/wav;base64,UklGRiQAAABXQVZF of the video.";
      scene.at("openai").next({ json: { ...verbose, text, segments: [{ id: 0, start: 0, end: 2, text }] } });
      const answer = await send({ model: WHISPER, response_format: format });
      expect(answer.text).toContain(text);
      const { captured } = await scene.row(answer.headers.get("x-svc-request-id") ?? "");
      expect(captured.answer).toBe(answer.text.replace(/data:\S+/, "[audio is never stored]"));
    },
  );

  test("LOG-03 a capture window stores the fields and the transcript, and never the audio", async () => {
    await scene.gateway.manage("POST", `/workspaces/${tenant.slug}/capture-windows`, { minutes: 5 });
    scene.at("openai").next({ json: { text: "A word" } });
    const answer = await send({ model: WHISPER, prompt: "names" });
    const { captured } = await scene.row(answer.headers.get("x-svc-request-id") ?? "");
    expect(captured.request).toEqual({
      model: WHISPER,
      prompt: "names",
      file: { filename: "speech.wav", content_type: "audio/wav", size: sound(2).length },
    });
    expect(captured.answer.text).toBe("A word");
    expect(JSON.stringify(captured)).not.toContain("RIFF");
  });
});
