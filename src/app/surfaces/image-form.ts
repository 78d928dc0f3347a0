import { invalidValue, unknownField } from "../../contract/faults.ts";
import { INPUT_IMAGES_MAX } from "../../contract/schemas/images.ts";
import type { FormFiles, UploadedFile, UploadedForm } from "../../io/uploads/multipart-form.ts";
import type { JsonObject } from "../../kit/json.ts";
import { readImageHeader } from "../../language/decisions/image.ts";
import type { SourceImage } from "../../language/images/call.ts";

/** Clients send one image as `image`, and several as `image[]` or by repeating `image`. */
export const IMAGE_FILES: FormFiles = { image: INPUT_IMAGES_MAX, "image[]": INPUT_IMAGES_MAX, mask: 1 };

const NUMBERS: ReadonlySet<string> = new Set(["n", "output_compression", "partial_images"]);
const JSON_FIELDS: ReadonlySet<string> = new Set(["provider", "data_classes"]);
/** Compared in lower case: Python writes `True`. */
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["false", false],
]);

/** The fields of a form as an object, with the names of its files in their place. */
export function imageFormValues({ fields, files }: UploadedForm): Record<string, unknown> {
  const values = new Map<string, unknown>();
  for (const [name, value] of fields) {
    if (values.has(name)) throw invalidValue(name.slice(0, 64), "is sent twice");
    if (name.includes("[")) throw unknownField(name.slice(0, 64));
    // Forms send an empty field for an absent value.
    values.set(name, value === "" ? undefined : parseValue(name, value));
  }
  const images = files.filter(isImage).map(({ filename }) => filename);
  const mask = files.find(({ field }) => field === "mask")?.filename;
  return {
    ...Object.fromEntries(values),
    ...(images.length === 0 ? {} : { image: images }),
    ...(mask === undefined ? {} : { mask }),
  };
}

function parseValue(name: string, text: string): unknown {
  if (NUMBERS.has(name)) return /^\d{1,9}$/.test(text) ? Number(text) : text;
  if (name === "stream") return BOOLEANS.get(text.toLowerCase()) ?? text;
  if (!JSON_FIELDS.has(name) || !text.startsWith("{")) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const isImage = ({ field }: UploadedFile) => field !== "mask";

/** The fields of a form, and only the metadata of its files. */
export function loggableImageForm(form: UploadedForm): JsonObject {
  const files = form.files.map(({ field, contentType, bytes }) => ({ field, content_type: contentType, size: bytes }));
  return { ...Object.fromEntries(form.fields), files };
}

export type FormImages = { readonly inputs: readonly SourceImage[]; readonly mask: SourceImage | undefined };

/** Reads the images of a form into memory: every attempt may need them in another encoding. */
export async function readFormImages({ files }: UploadedForm): Promise<FormImages> {
  const inputs = files.filter(isImage);
  const read: SourceImage[] = [];
  for (const [at, file] of inputs.entries())
    read.push(await readImage(file, inputs.length === 1 ? "image" : `image.${at}`));
  const mask = files.find((file) => !isImage(file));
  return { inputs: read, mask: mask && (await readImage(mask, "mask")) };
}

async function readImage(file: UploadedFile, param: string): Promise<SourceImage> {
  const chunks: Buffer[] = [];
  for await (const chunk of file.read()) chunks.push(chunk);
  return sourceImage(Buffer.concat(chunks), param);
}

function sourceImage(bytes: Buffer, param: string): SourceImage {
  if (bytes.length === 0) throw invalidValue(param, "is empty");
  const header = readImageHeader(bytes);
  if ("problem" in header) throw invalidValue(param, header.problem);
  return { ...header, bytes };
}
