import { createHash } from "node:crypto";
import type { ImagesEntry } from "../../src/domain/catalogue/images-support.ts";
import { paintPng } from "../../src/sandbox/png.ts";
import { expectDocumented } from "./documented-responses.ts";
import type { Called, Json, TestGateway } from "./gateway.ts";
import { openSurface, type SurfaceHost, type SurfaceScene } from "./surface-scene.ts";
import { answered } from "./transcriptions.ts";
import type { Script } from "./upstream.ts";

export type ImageScene = SurfaceScene & {
  /** POST /v1/images/generations for `lab/painter`, unless the body names another model. */
  paint(body: Json, key?: string): Promise<Called>;
  /** POST of a form to /v1/images/edits by default. */
  send(form: FormData, path?: "edits" | "variations", key?: string): Promise<Called>;
};

export const painterHost = (
  images: Omit<ImagesEntry, "interface"> & Partial<Pick<ImagesEntry, "interface">> = {},
  { price = { per_image: 0.04 }, ...more }: Partial<SurfaceHost> = {},
): SurfaceHost => ({
  ...more,
  price,
  endpoint: { images: { interface: "openai", ...images }, ...more.endpoint },
});

export async function openImages(
  hosts: Readonly<Record<string, SurfaceHost>>,
  env: Readonly<Record<string, string>> = {},
): Promise<ImageScene> {
  const models = { id: "lab/painter", surfaces: ["images"], capability: "image_generation" };
  const scene = await openSurface(models, hosts, env);
  return {
    ...scene,
    paint: (body, key = scene.tenant.key) =>
      scene.gateway.call(key, "/v1/images/generations", { body: { model: "lab/painter", prompt: "a cat", ...body } }),
    send: (form, path = "edits", key = scene.tenant.key) =>
      sendForm(scene.gateway, `/v1/images/${path}`, form, { authorization: `Bearer ${key}` }),
  };
}

export async function sendForm(
  { url }: Pick<TestGateway, "url">,
  path: string,
  body: FormData,
  headers: Record<string, string>,
): Promise<Called> {
  const answer = await answered(await fetch(`${url}${path}`, { method: "POST", headers, body }));
  expectDocumented("POST", path, answer);
  return answer;
}

const COLOURS = [
  [200, 30, 30],
  [30, 30, 200],
] as const;

/** A PNG of 8 by 8 pixels. */
export const PNG = paintPng(8, 8, COLOURS);
export const PNG_BASE64 = PNG.toString("base64");
export const PNG_URL = `data:image/png;base64,${PNG_BASE64}`;

export const pngFile = (name = "cat.png", bytes: Buffer = PNG) =>
  new File([Uint8Array.from(bytes)], name, { type: "image/png" });

/** OpenAI's reply with so many images. */
export const painted = (count: number, more: Json = {}): Script => ({
  json: { created: 1787150086, data: Array.from({ length: count }, () => ({ b64_json: PNG_BASE64 })), ...more },
});

export const tokensUsed = (output: number, input = 10): Json => ({
  usage: {
    input_tokens: input,
    input_tokens_details: { text_tokens: input, image_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { text_tokens: 0, image_tokens: output },
    total_tokens: input + output,
  },
});

export const eventFrame = (type: string, members: Json = {}) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, b64_json: PNG_BASE64, created_at: 1787150086, ...members })}\n\n`;

/** The parts of a received form: name, file name and a hash of the bytes of files. */
export function partsOf(raw: Buffer, contentType: string | undefined): (readonly [string, string])[] {
  const boundary = /boundary=(.+)$/.exec(contentType ?? "")?.[1] ?? "";
  const text = raw.toString("latin1");
  return text
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => {
      const [head = "", ...body] = part.replace(/^\r\n/, "").split("\r\n\r\n");
      const content = Buffer.from(body.join("\r\n\r\n").replace(/\r\n$/, ""), "latin1");
      const name = /name="([^"]*)"/.exec(head)?.[1] ?? "";
      const filename = /filename="([^"]*)"/.exec(head)?.[1];
      return [name, filename === undefined ? content.toString() : `${filename} ${hashOf(content)}`] as const;
    });
}

export const hashOf = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex").slice(0, 12);

/** An endpoint with sizes and qualities, and a price for each. */
export const BY_CLASS = {
  operations: ["generation", "edit", "variation"],
  sizes: ["512x512", "1024x1024"],
  default_size: "1024x1024",
  qualities: { low: "standard", high: "premium" },
  default_quality: "low",
  inputs_max: 2,
  mask: true,
  response_format: true,
  stream: true,
  prompt_chars_max: 100,
} as const satisfies Partial<ImagesEntry>;
export const CLASS_PRICES = {
  image_prices: [
    { size: "512x512", per_image: 0.01 },
    { quality: "low", per_image: 0.03 },
    { size: "1024x1024", quality: "high", per_image: 0.08 },
  ],
};

export const formWith = (fields: Json, ...files: readonly (readonly [string, File])[]) => {
  const form = new FormData();
  for (const [name, value] of Object.entries({ model: "lab/painter", prompt: "make it green", ...fields }))
    form.append(name, typeof value === "string" ? value : JSON.stringify(value));
  for (const [name, file] of files) form.append(name, file);
  return form;
};

/** The data of the events of a stream. */
export const imageEvents = (text: string): Json[] =>
  text.split("\n").flatMap((line) => (line.startsWith("data: ") ? [JSON.parse(line.slice(6))] : []));
