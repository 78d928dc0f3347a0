import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import type { StreamedBody } from "../../http1/client/contract.ts";
import type { FormField } from "../../language/transcriptions/wire-format.ts";

/** A file that can be read repeatedly from the start. */
export type MultipartFile = {
  /** Absent: `file`. */
  readonly field?: string;
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: number;
  read(): AsyncIterable<Buffer>;
};

/** An outbound multipart form: fields first, then the files, with its exact length. */
export type MultipartBody = { readonly headers: Readonly<Record<string, string>>; readonly body: StreamedBody };

/** The boundary is random, so a caller's file cannot inject a part, such as another model than the one that is billed. */
export function buildMultipartBody(fields: readonly FormField[], ...files: readonly MultipartFile[]): MultipartBody {
  return formOf(`form-${randomBytes(18).toString("hex")}`, fields, files);
}

function formOf(boundary: string, fields: readonly FormField[], files: readonly MultipartFile[]): MultipartBody {
  const prefix = Buffer.from(
    fields.map(([name, value]) => `--${boundary}\r\n${disposition(name)}\r\n\r\n${value}\r\n`).join(""),
  );
  const heads = files.map(({ field = "file", filename, contentType }) =>
    Buffer.from(
      `--${boundary}\r\n${disposition(field)}; filename="${escapeName(filename)}"\r\nContent-Type: ${contentType}\r\n\r\n`,
    ),
  );
  const suffix = Buffer.from(`--${boundary}--\r\n`);
  const fileBytes = files.reduce((sum, file, at) => sum + (heads[at]?.length ?? 0) + file.bytes + LINE_END.length, 0);
  const bytes = prefix.length + fileBytes + suffix.length;
  async function* chunks(): AsyncGenerator<Buffer> {
    yield prefix;
    for (const [at, file] of files.entries()) {
      yield heads[at] ?? LINE_END;
      yield* file.read();
      yield LINE_END;
    }
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
          files.map((file) => ({ ...file, filename: rewrite(file.filename), read: () => file.read() })),
        ).body,
    },
  };
}

const LINE_END = Buffer.from("\r\n");

function disposition(name: string): string {
  return `Content-Disposition: form-data; name="${escapeName(name)}"`;
}

/** Escapes quotes and line breaks as browsers do. */
function escapeName(text: string): string {
  return text.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}
