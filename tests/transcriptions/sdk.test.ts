import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { clientOf, sound, transcribe, wav } from "../support/transcriptions.ts";

const MODEL = "sandbox/listen";
const TEXT = "the quick brown fox jumps";

describe("the official client against the sandbox", () => {
  let gateway: TestGateway;
  let key: string;

  beforeAll(async () => {
    gateway = await startGateway();
    key = (await gateway.tenant()).key;
  });
  afterAll(() => gateway.close());

  test("STT-01 json: text, billed usage and cost", async () => {
    const transcript = await clientOf(gateway, key).audio.transcriptions.create({ file: await wav(2), model: MODEL });
    expect(transcript.text).toBe(TEXT);
    expect(transcript.usage).toMatchObject({ type: "duration", seconds: 2, currency: "EUR" });
  });

  test("STT-01 text: the transcript only", async () => {
    const transcript = await clientOf(gateway, key).audio.transcriptions.create({
      file: await wav(2),
      model: MODEL,
      response_format: "text",
    });
    expect(transcript).toBe(`${TEXT}\n`);
  });

  test("STT-01 verbose_json: language, duration, segments and words", async () => {
    const transcript = await clientOf(gateway, key).audio.transcriptions.create({
      file: await wav(2),
      model: MODEL,
      response_format: "verbose_json",
      timestamp_granularities: ["segment", "word"],
    });
    expect(transcript).toMatchObject({
      task: "transcribe",
      language: "english",
      duration: 2,
      text: TEXT,
      segments: [{ id: 0, start: 0, end: 2, text: ` ${TEXT}` }],
      words: [
        { word: "the", start: 0, end: 0.4 },
        { word: "quick", start: 0.4, end: 0.8 },
        { word: "brown" },
        { word: "fox" },
        { word: "jumps", start: 1.6, end: 2 },
      ],
      usage: { type: "duration", seconds: 2 },
    });
  });

  test("STT-01 srt and vtt: subtitles with timestamps", async () => {
    const client = clientOf(gateway, key);
    const srt = await client.audio.transcriptions.create({ file: await wav(6), model: MODEL, response_format: "srt" });
    const first = "the quick brown fox jumps over the lazy dog while rain falls";
    expect(srt).toBe(
      `1\n00:00:00,000 --> 00:00:04,800\n${first}\n\n2\n00:00:04,800 --> 00:00:06,000\non quiet hills\n\n`,
    );
    const vtt = await client.audio.transcriptions.create({ file: await wav(6), model: MODEL, response_format: "vtt" });
    expect(vtt).toBe(
      `WEBVTT\n\n00:00:00.000 --> 00:00:04.800\n${first}\n\n00:00:04.800 --> 00:00:06.000\non quiet hills\n\n`,
    );
  });

  test("STT-01 stream: deltas, then the whole text with usage and cost", async () => {
    const stream = await clientOf(gateway, key).audio.transcriptions.create({
      file: await wav(2),
      model: MODEL,
      stream: true,
    });
    const events = await Array.fromAsync(stream);
    const deltas = events.filter((event) => event.type === "transcript.text.delta");
    expect(deltas.map(({ delta }) => delta).join("")).toBe(TEXT);
    expect(events.at(-1)).toMatchObject({
      type: "transcript.text.done",
      text: TEXT,
      usage: { type: "duration", seconds: 2, cost: expect.any(Number), currency: "EUR" },
    });
  });

  test.each(["text", "srt", "vtt"])(
    "BILL-09 STT-01 a replayed request gets 409 instead of %s, which is stored as it arrives",
    async (format) => {
      const { key } = await gateway.tenant();
      const once = () =>
        transcribe(
          gateway,
          key,
          [
            ["model", MODEL],
            ["response_format", format],
          ],
          { name: "a.wav", bytes: sound(1) },
          { "idempotency-key": "minutes" },
        );
      const first = await once();
      expect(first.status).toBe(200);
      const again = await once();
      expect([again.status, again.body.error.code]).toEqual([409, "idempotent_replay"]);
      expect(again.body.error.message).toContain(first.headers.get("x-svc-request-id"));
      expect(again.headers.get("x-should-retry")).toBe("false");
      expect(again.headers.get("idempotent-replayed")).toBe("true");
    },
  );

  test.each(["sandbox-us", "sandbox-fr"])(
    "STT-01 the same transcript from %s, in any wire format",
    async (provider) => {
      const client = clientOf(gateway, key);
      const extra = { provider: JSON.stringify({ only: [provider] }) };
      const srt = await client.audio.transcriptions.create({
        file: await wav(2),
        model: MODEL,
        response_format: "srt",
        ...extra,
      });
      expect(srt).toBe(`1\n00:00:00,000 --> 00:00:02,000\n${TEXT}\n\n`);
      const stream = await client.audio.transcriptions.create({
        file: await wav(2),
        model: MODEL,
        stream: true,
        ...extra,
      });
      const events = await Array.fromAsync(stream);
      expect(events.map((event) => (event.type === "transcript.text.delta" ? event.delta : "")).join("")).toBe(TEXT);
      expect(events.at(-1)).toMatchObject({ type: "transcript.text.done", text: TEXT });
    },
  );
});
