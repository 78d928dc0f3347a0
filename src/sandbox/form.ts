/** A part of a multipart form as it was sent. */
export type FormPart = { readonly name: string; readonly filename: string | undefined; readonly body: Buffer };

const LINE = "\r\n";

/** Cuts a form into its parts; undefined when it is none. Written apart from the gateway's own reader and writer. */
export function partsOf(body: Buffer, contentType: string | undefined): FormPart[] | undefined {
  const boundary = /^multipart\/form-data;\s*boundary="?([^";]+)"?$/i.exec(contentType ?? "")?.[1];
  if (boundary === undefined) return undefined;
  const mark = Buffer.from(`--${boundary}`);
  const parts: FormPart[] = [];
  let at = body.indexOf(mark);
  if (at !== 0) return undefined;
  for (;;) {
    const from = at + mark.length;
    if (body.toString("latin1", from, from + 2) === "--") return parts;
    at = body.indexOf(`${LINE}--${boundary}`, from);
    if (at < 0) return undefined;
    const part = partOf(body.subarray(from + LINE.length, at));
    if (part === undefined) return undefined;
    parts.push(part);
    at += LINE.length;
  }
}

function partOf(bytes: Buffer): FormPart | undefined {
  const end = bytes.indexOf(LINE + LINE);
  if (end < 0) return undefined;
  const head = bytes.toString("utf8", 0, end);
  const name = /\bname="([^"]*)"/i.exec(head)?.[1];
  if (name === undefined) return undefined;
  const filename = /\bfilename="([^"]*)"/i.exec(head)?.[1];
  return { name, filename, body: bytes.subarray(end + 2 * LINE.length) };
}
