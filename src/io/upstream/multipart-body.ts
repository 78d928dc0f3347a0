import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import type { StreamedBody } from "../../http1/client/contract.ts";
import type { FormField } from "../../language/transcriptions/wire-format.ts";

/** A file that can be read repeatedly from the start. */
export type MultipartFile = {
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: number;
  read(): AsyncIterable<Buffer>;
};

/** An outbound multipart form: fields first, then the file, with its exact length. */
export type MultipartBody = { readonly headers: Readonly<Record<string, string>>; readonly body: StreamedBody };

/** The boundary is random, so a caller's file cannot inject a part, such as another model than the one that is billed. */
export function buildMultipartBody(fields: readonly FormField[], file: MultipartFile): MultipartBody {
  return formOf(`form-${randomBytes(18).toString("hex")}`, fields, file);
}

function formOf(boundary: string, fields: readonly FormField[], file: MultipartFile): MultipartBody {
  const { contentType } = file;
  const prefix = Buffer.from(
    [
      ...fields.map(([name, value]) => `--${boundary}\r\n${disposition(name)}\r\n\r\n${value}\r\n`),
      `--${boundary}\r\n${disposition("file")}; filename="${escapeName(file.filename)}"\r\n`,
      `Content-Type: ${contentType}\r\n\r\n`,
    ].join(""),
  );
  const suffix = Buffer.from(`\r\n--${boundary}--\r\n`);
  const bytes = prefix.length + file.bytes + suffix.length;
  async function* chunks(): AsyncGenerator<Buffer> {
    yield prefix;
    yield* file.read();
    yield suffix;
  }
  return {
    headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
    body: {
      bytes,
      open: () => Readable.from(chunks(), { objectMode: false }),
      rewritten: (rewrite) =>
        formOf(
          boundary,
          fields.map(([name, value]) => [name, rewrite(value)]),
          { filename: rewrite(file.filename), contentType, bytes: file.bytes, read: () => file.read() },
        ).body,
    },
  };
}

function disposition(name: string): string {
  return `Content-Disposition: form-data; name="${escapeName(name)}"`;
}

/** Escapes quotes and line breaks as browsers do. */
function escapeName(text: string): string {
  return text.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}
