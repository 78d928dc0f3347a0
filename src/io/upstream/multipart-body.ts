import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import type { FormField } from "../../language/transcriptions/wire-format.ts";
import type { Upload } from "./transport.ts";

/** A file that can be read from its beginning as often as it is needed. */
export type MultipartFile = {
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: number;
  read(): AsyncIterable<Buffer>;
};

/** A multipart form on its way out: fields first, then the file, with its exact length. */
export type MultipartBody = { readonly headers: Readonly<Record<string, string>>; readonly body: Upload };

/**
 * Nobody who writes a part of it can know the boundary, so nobody can put a part into it: a caller's file would
 * otherwise name another model than the one that is paid for.
 */
export function buildMultipartBody(fields: readonly FormField[], file: MultipartFile): MultipartBody {
  const boundary = `form-${randomBytes(18).toString("hex")}`;
  const before = Buffer.from(
    [
      ...fields.map(([name, value]) => `--${boundary}\r\n${disposition(name)}\r\n\r\n${value}\r\n`),
      `--${boundary}\r\n${disposition("file")}; filename="${quoted(file.filename)}"\r\n`,
      `Content-Type: ${file.contentType}\r\n\r\n`,
    ].join(""),
  );
  const after = Buffer.from(`\r\n--${boundary}--\r\n`);
  const bytes = before.length + file.bytes + after.length;
  async function* pieces(): AsyncGenerator<Buffer> {
    yield before;
    yield* file.read();
    yield after;
  }
  return {
    headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
    body: { bytes, open: () => Readable.from(pieces(), { objectMode: false }) },
  };
}

function disposition(name: string): string {
  return `Content-Disposition: form-data; name="${quoted(name)}"`;
}

/** As browsers write names: what would end the quotation or the line is written out. */
function quoted(text: string): string {
  return text.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}
