import { isIP } from "node:net";

/** The operator's SMTP server. */
export type SmtpServer = {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte, or STARTTLS. */
  readonly secure: boolean;
  readonly user: { readonly name: string; readonly password: string } | null;
  /** The URL without the password. */
  readonly displayUrl: string;
};

const FORMAT_HINT = "must be smtp://user:password@host:587 or smtps://user:password@host:465";

/** Parses an `smtp://` or `smtps://` URL, or explains the expected format without repeating the input. */
export function parseSmtpUrl(text: string): SmtpServer | { readonly problem: string } {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^smtps?:$/.test(url.protocol) || url.hostname === "") return { problem: FORMAT_HINT };
  if ((url.pathname !== "" && url.pathname !== "/") || url.search !== "" || url.hash !== "")
    return { problem: FORMAT_HINT };
  const secure = url.protocol === "smtps:";
  const port = url.port === "" ? (secure ? 465 : 587) : Number(url.port);
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const [name, password] = [tryDecode(url.username), tryDecode(url.password)];
  if (name === undefined || password === undefined) return { problem: `${FORMAT_HINT}, with % written as %25` };
  if ((name === "") !== (password === "")) return { problem: "must have both user and password, or neither" };
  const displayUrl = `${url.protocol}//${url.username === "" ? "" : `${url.username}@`}${url.hostname}:${port}`;
  return { host, port, secure, user: name === "" ? null : { name, password }, displayUrl };
}

/** A loopback address or `localhost`; a name such as `127.example.eu` is not. */
export function isLoopbackHost(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

function tryDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

export type MailSender = { readonly name: string; readonly address: string };

const ADDRESS = /^[^\s<>@,;:"()[\]\\]{1,64}@[^\s<>@,;:"()[\]\\]{1,189}$/;

/** `alerts@example.eu`, or `Gateway <alerts@example.eu>`. */
export function parseMailSender(text: string): MailSender | { readonly problem: string } {
  const match = /^(?:"?([^"<>\p{Cc}]*?)"?\s*<([^<>]+)>|([^<>]+))$/u.exec(text.trim());
  const address = (match?.[2] ?? match?.[3] ?? "").trim();
  if (!ADDRESS.test(address)) return { problem: "must be alerts@example.eu or Gateway <alerts@example.eu>" };
  return { name: (match?.[1] ?? "").trim(), address };
}
