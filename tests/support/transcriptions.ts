import { type ClientRequest, request as httpRequest } from "node:http";
import OpenAI, { toFile } from "openai";
import { synthesizeSpeech } from "../../src/sandbox/audio/speech.ts";
import { parseMultipart } from "../../src/sandbox/transcriptions.ts";
import { expectDocumented } from "./documented-responses.ts";
import type { Called, Json, TestGateway } from "./gateway.ts";

/** A sound of this duration. */
export function sound(seconds: number): Buffer {
  return synthesizeSpeech("wav", seconds);
}

export function clientOf(gateway: Pick<TestGateway, "url">, key: string): OpenAI {
  return new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
}

export function wav(seconds: number, name = "speech.wav") {
  return toFile(sound(seconds), name, { type: "audio/wav" });
}

type Field = readonly [name: string, value: string];

/** Sends a form as it is; `file` is a WAV of two seconds by default, null for none. */
export async function transcribe(
  gateway: Pick<TestGateway, "url">,
  key: string,
  fields: readonly Field[],
  file: { name: string; bytes: Buffer } | null = { name: "speech.wav", bytes: sound(2) },
  headers: Record<string, string> = {},
): Promise<Called> {
  const form = new FormData();
  for (const [name, value] of fields) form.append(name, value);
  if (file !== null) form.append("file", new Blob([new Uint8Array(file.bytes)], { type: "audio/wav" }), file.name);
  const response = await fetch(`${gateway.url}/v1/audio/transcriptions`, {
    method: "POST",
    headers: { ...(key === "" ? {} : { authorization: `Bearer ${key}` }), ...headers },
    body: form,
  });
  const answer = await answered(response);
  expectDocumented("POST", "/v1/audio/transcriptions", answer);
  return answer;
}

export async function answered(response: Response): Promise<Called> {
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: parsed(text) };
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const BOUNDARY = "a-boundary-of-the-test";

/** The bytes of a raw form: whatever a client may send. */
export function formBytes(
  parts: readonly { head: string; body: string | Buffer }[],
  end = `--${BOUNDARY}--\r\n`,
): Buffer {
  return Buffer.concat([
    ...parts.flatMap(({ head, body }) => [
      Buffer.from(`--${BOUNDARY}\r\n${head}\r\n\r\n`),
      Buffer.from(body),
      Buffer.from("\r\n"),
    ]),
    Buffer.from(end),
  ]);
}

export const fieldPart = (name: string, body: string) => ({
  head: `Content-Disposition: form-data; name="${name}"`,
  body,
});

export const filePart = (body: Buffer, filename = "speech.wav") => ({
  head: `Content-Disposition: form-data; name="file"; filename="${filename}"\r\nContent-Type: audio/wav`,
  body,
});

/** Sends bytes as a form's body. */
export async function sendBytes(
  gateway: Pick<TestGateway, "url">,
  key: string,
  bytes: Buffer,
  headers: Record<string, string> = {},
): Promise<Called> {
  return answered(
    await fetch(`${gateway.url}/v1/audio/transcriptions`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": `multipart/form-data; boundary=${BOUNDARY}`,
        ...headers,
      },
      body: new Uint8Array(bytes),
    }),
  );
}

/** Begins an upload and leaves it to the caller to continue. */
export function startUpload(
  gateway: Pick<TestGateway, "url">,
  key: string,
  headers: Record<string, string> = {},
): ClientRequest {
  const request = httpRequest(`${gateway.url}/v1/audio/transcriptions`, {
    method: "POST",
    agent: false,
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": `multipart/form-data; boundary=${BOUNDARY}`,
      ...headers,
    },
  });
  request.on("error", () => undefined);
  return request;
}

/** The parts of a form that a provider received. */
export function receivedForm(received: { raw: Buffer; headers: { "content-type"?: string | undefined } }) {
  const parts = parseMultipart(received.raw, received.headers["content-type"]);
  if (parts === undefined) throw new Error("what the provider received is no form");
  const file = parts.find(({ filename }) => filename !== undefined);
  return {
    fields: parts.filter((part) => part !== file).map(({ name, body }) => [name, body.toString("utf8")]),
    file,
    names: parts.map(({ name }) => name),
  };
}
