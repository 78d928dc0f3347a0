import { isLoopbackHost, type MailSender, type SmtpServer } from "./smtp-server.ts";

export type MailMessage = {
  /** Stable across retries, so that mail clients show the message once. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly signal: AbortSignal;
};

export type MailResult =
  | { readonly is: "sent" }
  /** Permanent: a retry is of no use. */
  | { readonly is: "refused"; readonly why: string }
  | { readonly is: "failed"; readonly why: string };

export type Mailer = (mail: MailMessage) => Promise<MailResult>;

/** Sends through the operator's SMTP server, with one connection per message. */
export function createSmtpMailer(server: SmtpServer, from: MailSender, timeoutMs: number): Mailer {
  let transport: ReturnType<typeof openTransport> | undefined;
  const domain = from.address.slice(from.address.lastIndexOf("@") + 1);
  return ({ id, to, subject, text, signal }) => {
    transport ??= openTransport(server, timeoutMs);
    const sending = transport.then((smtp) =>
      smtp.sendMail({
        from: { name: from.name, address: from.address },
        to: { name: "", address: to },
        subject,
        text,
        messageId: `<${id}@${domain}>`,
        headers: { "Auto-Submitted": "auto-generated" },
      }),
    );
    return orAborted(
      sending.then((): MailResult => ({ is: "sent" }), resultOfError),
      signal,
    );
  };
}

/** Loaded with the first message: most gateways send none, and the library needs several megabytes. */
async function openTransport({ host, port, secure, user }: SmtpServer, timeoutMs: number) {
  const { createTransport } = await import("nodemailer");
  return createTransport({
    host,
    port,
    secure,
    ...(user === null ? {} : { auth: { user: user.name, pass: user.password } }),
    // A password is sent without TLS only to the loopback interface.
    requireTLS: user !== null && !secure && !isLoopbackHost(host),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

function orAborted(sending: Promise<MailResult>, signal: AbortSignal): Promise<MailResult> {
  return new Promise((resolve) => {
    const end = () => resolve({ is: "failed", why: "the gateway stopped" });
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
    void sending.then((result) => {
      signal.removeEventListener("abort", end);
      resolve(result);
    });
  });
}

/** The recipient or the message is rejected; anything else may be fixed by the operator. */
const PERMANENT_CODES = ["EENVELOPE", "EMESSAGE"];

/** Codes only: server messages may contain addresses. */
function resultOfError(error: unknown): MailResult {
  const status = error instanceof Error && "responseCode" in error ? error.responseCode : undefined;
  const code = error instanceof Error && "code" in error ? String(error.code).slice(0, 40) : "unknown fault";
  if (typeof status !== "number") return { is: "failed", why: `the mail server is unreachable (${code})` };
  if (status >= 500 && PERMANENT_CODES.includes(code))
    return { is: "refused", why: `the mail server rejected it (${status})` };
  return { is: "failed", why: `the mail server deferred it (${status})` };
}
