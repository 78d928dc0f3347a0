import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { Busboy, type BusboyFileStream, type BusboyInstance } from "@fastify/busboy";
import { type Fault, fault, invalidValue, unknownField } from "../../contract/faults.ts";
import { fileMeter } from "../../language/audio/file-meter.ts";
import { type SpoolStorage, UploadSpool } from "./upload-spool.ts";

/** More than any form for these endpoints has. */
const PARTS_MAX = 64;
const FIELD_MAX_BYTES = 64 * 1024;
const HEADER_PAIRS_MAX = 32;
const HEADER_MAX_BYTES = 16 * 1024;
const NAME_CHARS_MAX = 100;
const FILENAME_CHARS_MAX = 200;

/** What the reader of forms makes of a part that has no type. */
const UNTOLD = "text/plain";
const MEDIA_TYPE = /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/;
/** What a decoder writes where bytes were no UTF-8. */
const REPLACEMENT = "\uFFFD";

/** The one file of a form, kept to be read again; how long its audio lasts where that could be measured. */
export type UploadedFile = {
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: number;
  readonly seconds: number | undefined;
  /** Those in which there may be more audio than was measured. */
  readonly skippedBytes: number;
  readonly sha256: Buffer;
  read(): AsyncIterable<Buffer>;
};

/** A form as it arrived: fields in their order, and the file if there was one. */
export type UploadedForm = {
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly file: UploadedFile | undefined;
  /** Lets go of the file. */
  close(): void;
};

/** Reads a form while it comes. The file goes by in pieces and is never held whole. */
export function readMultipartForm(source: Readable, contentType: string, room: SpoolStorage): Promise<UploadedForm> {
  return new Promise((resolve, reject) => {
    const reader = new MultipartFormReader(room);
    let over = false;
    const fail = (problem: unknown) => {
      if (over) return;
      over = true;
      source.unpipe();
      source.destroy();
      reader.close();
      reject(problem);
    };
    source.on("error", fail);
    // The library waits for ever for the end of a part whose header never ends: it has had everything by then.
    let waitsFor = 1;
    const arrived = () => {
      waitsFor -= 1;
      if (waitsFor === 0) setImmediate(() => setImmediate(() => fail(malformed("one of its parts has no end"))));
    };
    source.on("end", arrived);
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
      return fail(malformed("it has no boundary that its parts could be told apart by"));
    }
    busboy.on("field", (name: string | undefined, value: string, _cut: boolean, isTruncated: boolean) => {
      const problem = reader.field(name, value, isTruncated ? "cut" : "whole");
      if (problem !== undefined) fail(problem);
    });
    busboy.on("file", (name, stream, filename, _encoding, type) => {
      stream.on("error", () => fail(malformed("it ends in the middle of the file")));
      waitsFor += 1;
      stream.on("end", arrived);
      const problem = reader.file(name, stream, { filename, type }, fail);
      if (problem !== undefined) fail(problem);
    });
    busboy.on("partsLimit", () => fail(malformed(`it has more than ${PARTS_MAX} parts`)));
    busboy.on("error", () => fail(malformed("it is cut off or is no multipart form")));
    busboy.on("finish", () => {
      if (over) return;
      over = true;
      resolve(reader.form());
    });
    source.pipe(busboy);
  });
}

class MultipartFormReader {
  readonly #spool: UploadSpool;
  readonly #fields: (readonly [name: string, value: string])[] = [];
  readonly #hash = createHash("sha256");
  readonly #meter = fileMeter();
  #named: { readonly filename: string; readonly type: string } | undefined;

  constructor(room: SpoolStorage) {
    this.#spool = new UploadSpool(room);
  }

  field(name: string | undefined, value: string, end: "whole" | "cut"): Fault | undefined {
    if (name === undefined || name === "") return malformed("one of its parts has no name");
    if (name === "file") return invalidValue(name, "it must be sent as a file, with a file name");
    const param = name.slice(0, NAME_CHARS_MAX);
    if (name.length > NAME_CHARS_MAX) return unknownField(param);
    if (end === "cut") return invalidValue(param, `it is longer than ${FIELD_MAX_BYTES} bytes`);
    if (name.includes(REPLACEMENT) || value.includes(REPLACEMENT)) return invalidValue(param, "it is not valid UTF-8");
    this.#fields.push([name, value]);
    return undefined;
  }

  file(
    name: string | undefined,
    stream: BusboyFileStream,
    told: { readonly filename: string; readonly type: string },
    fail: (problem: unknown) => void,
  ): Fault | undefined {
    if (name !== "file") return unknownField((name ?? "").slice(0, NAME_CHARS_MAX));
    if (this.#named !== undefined) return invalidValue(name, "it is given twice");
    this.#named = { filename: filenameOf(told.filename), type: told.type };
    stream.on("data", (chunk: Buffer) => {
      this.#hash.update(chunk);
      this.#meter.push(chunk);
      const writing = this.#kept(chunk, fail);
      if (writing === undefined) return;
      stream.pause();
      writing.then(() => stream.resume(), fail);
    });
    return undefined;
  }

  #kept(chunk: Buffer, fail: (problem: unknown) => void): Promise<void> | undefined {
    try {
      return this.#spool.add(chunk);
    } catch (problem) {
      fail(problem);
      return undefined;
    }
  }

  form(): UploadedForm {
    const spool = this.#spool;
    const file =
      this.#named === undefined
        ? undefined
        : {
            filename: this.#named.filename,
            contentType: this.#contentType(this.#named.type),
            bytes: spool.bytes,
            seconds: this.#meter.seconds(),
            passedBytes: this.#meter.skippedBytes(),
            sha256: this.#hash.digest(),
            read: () => spool.read(),
          };
    return { fields: this.#fields, file, close: () => spool.close() };
  }

  /** What a part without a type is read as is no type of audio: its bytes tell. */
  #contentType(told: string): string {
    if (told !== UNTOLD && MEDIA_TYPE.test(told)) return told;
    return this.#meter.mediaType() ?? "application/octet-stream";
  }

  close(): void {
    this.#spool.close();
  }
}

/** Providers tell the format by the ending, so that is what stays of a long name. */
function filenameOf(name: string): string {
  const plain = [...name].filter((char) => char >= " " && char !== "\u007F").join("");
  return plain === "" ? "audio" : plain.slice(-FILENAME_CHARS_MAX);
}

function malformed(why: string): Fault {
  return fault("invalid_request", { message: `The form cannot be read: ${why}.` });
}
