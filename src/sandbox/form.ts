/** A part of a multipart form as it was sent. */
export type MultipartPart = { readonly name: string; readonly filename: string | undefined; readonly body: Buffer };

const CRLF = "\r\n";

/** Cuts a form into its parts; undefined when it is none. Written apart from the gateway's own reader and writer. */
export function parseMultipart(body: Buffer, contentType: string | undefined): MultipartPart[] | undefined {
  const boundary = /^multipart\/form-data;\s*boundary="?([^";]+)"?$/i.exec(contentType ?? "")?.[1];
  if (boundary === undefined) return undefined;
  const mark = Buffer.from(`--${boundary}`);
  const parts: MultipartPart[] = [];
  let at = body.indexOf(mark);
  if (at !== 0) return undefined;
  for (;;) {
    const from = at + mark.length;
    if (body.toString("latin1", from, from + 2) === "--") return parts;
    at = body.indexOf(`${CRLF}--${boundary}`, from);
    if (at < 0) return undefined;
    const part = parsePart(body.subarray(from + CRLF.length, at));
    if (part === undefined) return undefined;
    parts.push(part);
    at += CRLF.length;
  }
}

function parsePart(bytes: Buffer): MultipartPart | undefined {
  const end = bytes.indexOf(CRLF + CRLF);
  if (end < 0) return undefined;
  const head = bytes.toString("utf8", 0, end);
  const name = /\bname="([^"]*)"/i.exec(head)?.[1];
  if (name === undefined) return undefined;
  const filename = /\bfilename="([^"]*)"/i.exec(head)?.[1];
  return { name, filename, body: bytes.subarray(end + 2 * CRLF.length) };
}
