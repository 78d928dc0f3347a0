import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { Busboy, type BusboyFileStream, type BusboyInstance } from "@fastify/busboy";
import { type Fault, fault, invalidValue, unknownField } from "../../contract/faults.ts";
import { fileMeter } from "../../language/audio/file-meter.ts";
import { type SpoolStorage, UploadSpool } from "./upload-spool.ts";

const PARTS_MAX = 64;
const FIELD_MAX_BYTES = 64 * 1024;
const HEADER_PAIRS_MAX = 32;
const HEADER_MAX_BYTES = 16 * 1024;
const NAME_CHARS_MAX = 100;
const FILENAME_CHARS_MAX = 200;

/** What the form parser reports for a part without a Content-Type. */
const DEFAULT_PART_TYPE = "text/plain";
const MEDIA_TYPE = /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/;
/** What the decoder writes for bytes that are not UTF-8. */
const REPLACEMENT_CHAR = "\uFFFD";

/** The file of a form, spooled so that it can be read repeatedly, with its audio duration if it could be measured. */
export type UploadedFile = {
  /** The name of its field. */
  readonly field: string;
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: number;
  readonly seconds: number | undefined;
  /** Those in which there may be more audio than was measured. */
  readonly skippedBytes: number;
  readonly sha256: Buffer;
  read(): AsyncIterable<Buffer>;
};

/** A parsed form: fields and files in their order. */
export type UploadedForm = {
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly files: readonly UploadedFile[];
  /** Releases the files. */
  close(): void;
};

/** Which files a form may have: the most of each name. */
export type FormFiles = Readonly<Record<string, number>>;

/** Parses a form as it arrives. Files are spooled chunk by chunk and never held in memory as a whole. */
export function readMultipartForm(
  source: Readable,
  contentType: string,
  storage: SpoolStorage,
  expected: FormFiles,
): Promise<UploadedForm> {
  return new Promise((resolve, reject) => {
    const reader = new MultipartFormReader(storage, expected);
    let isDone = false;
    const fail = (problem: unknown) => {
      if (isDone) return;
      isDone = true;
      source.unpipe();
      source.destroy();
      reader.close();
      reject(problem);
    };
    source.on("error", fail);
    // The parser never reports a part whose header does not end, so the form fails once all its input has been parsed.
    let openStreams = 1;
    const onStreamEnd = () => {
      openStreams -= 1;
      if (openStreams === 0) setImmediate(() => setImmediate(() => fail(malformed("a part has no end"))));
    };
    source.on("end", onStreamEnd);
    let busboy: BusboyInstance;
    try {
      busboy = new Busboy({
        headers: { "content-type": contentType },
        limits: {
          parts: PARTS_MAX,
          fieldSize: FIELD_MAX_BYTES,
          headerPairs: HEADER_PAIRS_MAX,
          headerSize: HEADER_MAX_BYTES,
        },
        isPartAFile: (_name, _type, filename) => filename !== undefined,
      });
    } catch {
      return fail(malformed("it has no boundary"));
    }
    busboy.on("field", (name: string | undefined, value: string, _nameTruncated: boolean, isTruncated: boolean) => {
      const problem = reader.field(name, value, isTruncated ? "truncated" : "complete");
      if (problem !== undefined) fail(problem);
    });
    busboy.on("file", (name, stream, filename, _encoding, type) => {
      stream.on("error", () => fail(malformed("it ends in the middle of the file")));
      openStreams += 1;
      stream.on("end", onStreamEnd);
      const problem = reader.file(name, stream, { filename, type }, fail);
      if (problem !== undefined) fail(problem);
    });
    busboy.on("partsLimit", () => fail(malformed(`it has more than ${PARTS_MAX} parts`)));
    busboy.on("error", () => fail(malformed("it is truncated or not a multipart form")));
    busboy.on("finish", () => {
      if (isDone) return;
      isDone = true;
      resolve(reader.form());
    });
    source.pipe(busboy);
  });
}

class MultipartFormReader {
  readonly #storage: SpoolStorage;
  readonly #expected: FormFiles;
  readonly #fields: (readonly [name: string, value: string])[] = [];
  readonly #files: FileReader[] = [];
  #isClosed = false;

  constructor(storage: SpoolStorage, expected: FormFiles) {
    this.#storage = storage;
    this.#expected = expected;
  }

  field(name: string | undefined, value: string, completeness: "complete" | "truncated"): Fault | undefined {
    if (name === undefined || name === "") return malformed("a part has no name");
    if (this.#maxOf(name) > 0) return invalidValue(name, "must be sent as a file, with a file name");
    const param = name.slice(0, NAME_CHARS_MAX);
    if (name.length > NAME_CHARS_MAX) return unknownField(param);
    if (completeness === "truncated") return invalidValue(param, `must have at most ${FIELD_MAX_BYTES} bytes`);
    if (name.includes(REPLACEMENT_CHAR) || value.includes(REPLACEMENT_CHAR))
      return invalidValue(param, "must be valid UTF-8");
    this.#fields.push([name, value]);
    return undefined;
  }

  file(
    name: string | undefined,
    stream: BusboyFileStream,
    info: { readonly filename: string; readonly type: string },
    fail: (problem: unknown) => void,
  ): Fault | undefined {
    const max = this.#maxOf(name);
    if (name === undefined || max === 0) return unknownField((name ?? "").slice(0, NAME_CHARS_MAX));
    if (this.#files.filter(({ field }) => field === name).length >= max)
      return invalidValue(name, max === 1 ? "is sent twice" : `has more than ${max} files`);
    const file = new FileReader(name, info, this.#storage);
    this.#files.push(file);
    if (this.#isClosed) file.close();
    stream.on("data", (chunk: Buffer) => {
      const writing = file.push(chunk, fail);
      if (writing === undefined) return;
      stream.pause();
      writing.then(() => stream.resume(), fail);
    });
    return undefined;
  }

  form(): UploadedForm {
    return { fields: this.#fields, files: this.#files.map((file) => file.uploaded()), close: () => this.close() };
  }

  close(): void {
    this.#isClosed = true;
    for (const file of this.#files) file.close();
  }

  #maxOf(name: string | undefined): number {
    return name !== undefined && Object.hasOwn(this.#expected, name) ? (this.#expected[name] ?? 0) : 0;
  }
}

/** One file of a form while it arrives. */
class FileReader {
  readonly field: string;
  readonly #filename: string;
  readonly #type: string;
  readonly #spool: UploadSpool;
  readonly #hash = createHash("sha256");
  readonly #meter = fileMeter();

  constructor(
    field: string,
    { filename, type }: { readonly filename: string; readonly type: string },
    storage: SpoolStorage,
  ) {
    this.field = field;
    this.#filename = sanitizeFilename(filename);
    this.#type = type;
    this.#spool = new UploadSpool(storage);
  }

  push(chunk: Buffer, fail: (problem: unknown) => void): Promise<void> | undefined {
    this.#hash.update(chunk);
    this.#meter.push(chunk);
    try {
      return this.#spool.add(chunk);
    } catch (problem) {
      fail(problem);
      return undefined;
    }
  }

  uploaded(): UploadedFile {
    return {
      field: this.field,
      filename: this.#filename,
      contentType: this.#contentTypeOf(this.#type),
      bytes: this.#spool.bytes,
      seconds: this.#meter.seconds(),
      skippedBytes: this.#meter.skippedBytes(),
      sha256: this.#hash.digest(),
      read: () => this.#spool.read(),
    };
  }

  close(): void {
    this.#spool.close();
  }

  /** The declared type, or one detected from the bytes. */
  #contentTypeOf(declared: string): string {
    if (declared !== DEFAULT_PART_TYPE && MEDIA_TYPE.test(declared)) return declared;
    return this.#meter.mediaType() ?? "application/octet-stream";
  }
}

/** Keeps the end of a long name: providers derive the audio format from the extension. */
function sanitizeFilename(name: string): string {
  const printable = [...name].filter((char) => char >= " " && char !== "\u007F").join("");
  return printable === "" ? "audio" : printable.slice(-FILENAME_CHARS_MAX);
}

function malformed(why: string): Fault {
  return fault("invalid_request", { message: `The form cannot be read: ${why}.` });
}
