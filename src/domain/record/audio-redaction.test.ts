import { expect, test } from "vitest";
import { redactAudio } from "./audio-redaction.ts";

const SOUND = "UklGRiQAAABXQVZFZm10IBAAAAABAAEA";

test("LOG-03 audio is removed from a body in every dialect, and everything else stays", () => {
  const bodies = [
    { messages: [{ role: "user", content: [{ type: "input_audio", input_audio: { data: SOUND, format: "wav" } }] }] },
    { messages: [{ content: [{ type: "file", file: { filename: "talk.mp3", file_data: SOUND } }] }] },
    { input: [{ content: [{ type: "input_file", file_data: `data:audio/mpeg;base64,${SOUND}` }] }] },
    { contents: [{ parts: [{ inlineData: { mimeType: "audio/wav", data: SOUND } }] }] },
    { choices: [{ message: { content: "kept words", audio: { id: "a1", data: SOUND, transcript: "kept words" } } }] },
    { content: [{ type: "video_url", video_url: { url: `data:video/mp4;base64,${SOUND}` } }] },
  ];
  for (const body of bodies) {
    const clean = redactAudio(JSON.stringify({ ...body, note: "kept words" }));
    expect(clean).not.toContain(SOUND);
    expect(clean).toContain("audio is never stored");
    expect(clean).toContain("kept words");
  }
});

test("LOG-03 every audio field and every way to declare audio is recognized", () => {
  const fields = ["data", "file_data", "b64_json", "bytes"];
  const says = [
    ...["mime_type", "mimeType", "media_type", "mediaType", "content_type"].flatMap((name) =>
      ["audio/wav", "video/mp4", "application/ogg", "Audio/MPEG"].map((type) => ({ [name]: type })),
    ),
    ...["audio", "video", "input_audio", "output_audio"].map((type) => ({ type })),
    ...["filename", "file_name"].flatMap((name) =>
      ["aac", "flac", "m4a", "mp3", "mp4", "oga", "ogg", "opus", "wav", "webm", "WAV"].map((end) => ({
        [name]: `talk.${end}`,
      })),
    ),
  ];
  for (const said of says)
    for (const field of fields) {
      const clean = redactAudio(JSON.stringify({ parts: [{ ...said, [field]: SOUND }], note: "kept words" }));
      expect(clean).toBe(
        JSON.stringify({ parts: [{ ...said, [field]: "[audio is never stored]" }], note: "kept words" }),
      );
    }
  for (const type of ["response.audio.delta", "response.output_audio.done", "audio.delta"])
    for (const field of ["delta", ...fields]) {
      const clean = redactAudio(`data: ${JSON.stringify({ type, [field]: SOUND })}\n\n`);
      expect(clean).toBe(`data: ${JSON.stringify({ type, [field]: "[audio is never stored]" })}\n\n`);
    }
  const transcript = `data: ${JSON.stringify({ type: "response.audio_transcript.delta", delta: "kept words" })}\n\n`;
  expect(redactAudio(transcript)).toBe(transcript);
});

test("LOG-03 audio is removed from unexpected fields, because rejected bodies are captured too", () => {
  const long = SOUND.repeat(4);
  const bodies = [
    // Letters written as numbers.
    JSON.stringify({ content: [{ type: "input_audio", input_audio: { data: long } }] }).replaceAll("u", "\\u0075"),
    JSON.stringify({ file: { filename: "talk.wav", file_data: long } }).replace(".wav", "\\u002ewav"),
    // Deeper, in a list, as a text, as numbers.
    JSON.stringify({ content: [{ type: "audio", source: { type: "base64", data: long } }] }),
    JSON.stringify({ content: [{ type: "audio", source: { of: [{ bytes: long }] } }] }),
    JSON.stringify({ audio: [{ data: long }] }),
    JSON.stringify({ input_audio: long }),
    JSON.stringify({ audio: { data: [...Buffer.from(long)] }, long: "[" }),
    // Inside other texts.
    JSON.stringify({ content: `listen: ![](data:audio/wav;base64,${long}) and tell` }),
    JSON.stringify({ content: `data:application/ogg;base64,${long}` }),
    JSON.stringify({ tool_calls: [{ function: { arguments: JSON.stringify({ audio: { data: long } }) } }] }),
  ];
  const asBytes = [...Buffer.from(long)].join(",");
  for (const body of bodies) {
    const clean = redactAudio(body);
    expect(clean).not.toContain(SOUND);
    expect(clean).not.toContain(asBytes);
    expect(clean).toContain("audio is never stored");
  }
});

test("LOG-03 text about audio and escaped letters stay byte for byte", () => {
  for (const plain of [
    '{ "content": "the audio of the video was caf\\u00e9 \\u0041", "n": 1.50 }',
    '{"modalities":["text","audio"],"audio":{"voice":"alloy","format":"wav"}}',
  ])
    expect(redactAudio(plain)).toBe(plain);
});

test("LOG-03 a body beyond the size limits is dropped without parsing", () => {
  const bodies = [`{"audio":${"[".repeat(2_000_000)}`, `{"audio":[${"{},".repeat(1_000_000)}0]}`];
  for (const body of bodies) expect(redactAudio(body)).toMatch(/^\[omitted/);
});

test("LOG-03 audio is removed from server-sent events", () => {
  const events = [
    `data: ${JSON.stringify({ choices: [{ delta: { audio: { data: SOUND } } }] })}`,
    `event: response.audio.delta\ndata: ${JSON.stringify({ type: "response.audio.delta", delta: SOUND })}`,
    `data: ${JSON.stringify({ type: "response.audio_transcript.delta", delta: "kept words" })}`,
    `data: {"audio": {"data": "${SOUND}`,
    "data: [DONE]",
  ];
  const clean = redactAudio(`${events.join("\n\n")}\n\n`);
  expect(clean).not.toContain(SOUND);
  expect(clean).toContain("kept words");
  expect(clean).toContain("data: [DONE]");
});

test("LOG-03 a text without audio stays byte for byte; an unreadable one is dropped", () => {
  const plain = '{ "n": 12345678901234567890, "image": "data:image/png;base64,AAAA" }';
  expect(redactAudio(plain)).toBe(plain);
  expect(redactAudio(`{"input_audio": {"data": "${SOUND}`)).not.toContain(SOUND);
  const deep = `{"audio":${'{"a":'.repeat(200_000)}1${"}".repeat(200_000)}}`;
  expect(redactAudio(deep).length).toBeLessThan(100);
});
