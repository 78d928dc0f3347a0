import { z } from "zod";
import { IMAGE_OPERATIONS, IMAGE_PARAMETERS } from "../../language/images/call.ts";
import { count, text } from "./field-schemas.ts";

/** Formats in which an image takes several requests. */
const IMAGE_JOB_INTERFACES = ["black_forest_labs", "mistral"] as const;
export type ImageJobInterface = (typeof IMAGE_JOB_INTERFACES)[number];

const IMAGE_INTERFACES = ["openai", "gemini", "bedrock_nova", "bedrock_stability", ...IMAGE_JOB_INTERFACES] as const;

export const isImageJob = (name: string): name is ImageJobInterface => IMAGE_JOB_INTERFACES.some((one) => one === name);

/** A list where the provider has the same names as OpenAI's format. */
const names = z.union([z.array(text).min(1), z.record(text, text)]);

export const imagesEntry = z.strictObject({
  interface: z
    .enum(IMAGE_INTERFACES)
    .describe("`openai`: also servers with the same format; `bedrock_nova`: also Titan."),
  operations: z.array(z.enum(IMAGE_OPERATIONS)).min(1).optional().describe("Absent: generation only."),
  edits_as: z.enum(["form", "json"]).optional().describe("How images to edit are sent. Absent: as a form."),
  sizes: names.optional().describe("Supported sizes, or the provider's name of each. Absent: any is sent unchanged."),
  default_size: text.optional().describe("Sent for `auto` or no size. Absent: none is sent."),
  qualities: names
    .optional()
    .describe("Supported qualities, or the provider's name of each. Absent: the request must not set one."),
  default_quality: text.optional().describe("Sent for `auto` or no quality. Absent: none is sent."),
  images_max: count
    .optional()
    .describe(
      "Images per request of the provider; further ones are further requests. Absent: what the provider documents.",
    ),
  inputs_max: count.optional().describe("Images that an edit may have. Absent: 1."),
  mask: z.boolean().optional().describe("Whether edits may have a mask."),
  prompt_chars_max: count.optional().describe("Longest prompt, in characters."),
  parameters: z.array(z.enum(IMAGE_PARAMETERS)).optional().describe("Supported optional parameters. Absent: none."),
  response_format: z.boolean().optional().describe("Whether `response_format` must ask for base64."),
  stream: z.boolean().optional().describe("Whether partial images can be streamed."),
  tokens_per_image: count
    .optional()
    .describe("Most output tokens of one image, to hold for. Absent: 8192. Only for prices per token."),
});
export type ImagesEntry = z.infer<typeof imagesEntry>;

/** Image support of an endpoint. */
export type ImageSupport = {
  readonly interface: (typeof IMAGE_INTERFACES)[number];
  readonly operations: readonly (typeof IMAGE_OPERATIONS)[number][];
  readonly editsAs: "form" | "json";
  /** The provider's name of each; null: any. */
  readonly sizes: Readonly<Record<string, string>> | null;
  readonly defaultSize: string | undefined;
  /** Null: none can be set. */
  readonly qualities: Readonly<Record<string, string>> | null;
  readonly defaultQuality: string | undefined;
  readonly imagesMax: number;
  readonly inputsMax: number;
  readonly mask: boolean;
  readonly promptCharsMax: number | null;
  readonly parameters: readonly (typeof IMAGE_PARAMETERS)[number][];
  readonly sendsResponseFormat: boolean;
  readonly stream: boolean;
  readonly tokensPerImage: number;
};

/** What the providers document. */
const IMAGES_MAX = {
  openai: 10,
  gemini: 1,
  bedrock_nova: 5,
  bedrock_stability: 1,
  black_forest_labs: 1,
  mistral: 1,
} as const;
/** What the formats have a field for. */
const PARAMETERS: Readonly<Record<ImageSupport["interface"], readonly string[]>> = {
  openai: IMAGE_PARAMETERS,
  gemini: [],
  bedrock_nova: [],
  bedrock_stability: ["output_format"],
  black_forest_labs: ["output_format"],
  mistral: [],
};
/** Sizes of these formats have other names than the caller's, so those without one cannot be sent. */
const FREE_SIZES: ReadonlySet<string> = new Set(["openai", "bedrock_nova", "black_forest_labs"]);
const NONE = {};
const TOKENS_PER_IMAGE = 8192;

export function compileImageSupport(entry: ImagesEntry): ImageSupport {
  return {
    interface: entry.interface,
    operations: entry.operations ?? ["generation"],
    editsAs: entry.edits_as ?? "form",
    sizes: namesOf(entry.sizes) ?? (FREE_SIZES.has(entry.interface) ? null : NONE),
    defaultSize: entry.default_size,
    qualities: namesOf(entry.qualities),
    defaultQuality: entry.default_quality,
    imagesMax: isImageJob(entry.interface) ? 1 : (entry.images_max ?? IMAGES_MAX[entry.interface]),
    inputsMax: entry.inputs_max ?? 1,
    mask: entry.mask ?? false,
    promptCharsMax: entry.prompt_chars_max ?? null,
    parameters: (entry.parameters ?? []).filter((name) => PARAMETERS[entry.interface].includes(name)),
    sendsResponseFormat: entry.response_format ?? false,
    stream: entry.stream ?? false,
    tokensPerImage: entry.tokens_per_image ?? TOKENS_PER_IMAGE,
  };
}

function namesOf(entry: z.infer<typeof names> | undefined): Readonly<Record<string, string>> | null {
  if (entry === undefined) return null;
  return Array.isArray(entry) ? Object.fromEntries(entry.map((name) => [name, name])) : entry;
}
