import { isLoopbackHost, type MailSender, type SmtpServer } from "./smtp-server.ts";

export type MailMessage = {
  /** Stays the same when it is sent again, so that readers see it once. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly signal: AbortSignal;
};

export type MailResult =
  | { readonly is: "sent" }
  /** The server will not take it, however often it is asked. */
  | { readonly is: "refused"; readonly why: string }
  | { readonly is: "failed"; readonly why: string };

export type Mailer = (mail: MailMessage) => Promise<MailResult>;

/** The only way in which mails leave: through the operator's server, on a connection for each. */
export function createSmtpMailer(server: SmtpServer, from: MailSender, timeoutMs: number): Mailer {
  let opened: ReturnType<typeof openTransport> | undefined;
  const domain = from.address.slice(from.address.lastIndexOf("@") + 1);
  return ({ id, to, subject, text, signal }) => {
    opened ??= openTransport(server, timeoutMs);
    const sending = opened.then((transport) =>
      transport.sendMail({
        from: { name: from.name, address: from.address },
        to: { name: "", address: to },
        subject,
        text,
        messageId: `<${id}@${domain}>`,
        headers: { "Auto-Submitted": "auto-generated" },
      }),
    );
    return untilStopped(
      sending.then((): MailResult => ({ is: "sent" }), failureOf),
      signal,
    );
  };
}

/** Loaded with the first mail: most gateways never send one, and the library takes as much memory as ten thousand keys. */
async function openTransport({ host, port, secure, user }: SmtpServer, timeoutMs: number) {
  const { createTransport } = await import("nodemailer");
  return createTransport({
    host,
    port,
    secure,
    ...(user === null ? {} : { auth: { user: user.name, pass: user.password } }),
    // A password is never sent in the open, but on the machine itself.
    requireTLS: user !== null && !secure && !isLoopbackHost(host),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

function untilStopped(sending: Promise<MailResult>, signal: AbortSignal): Promise<MailResult> {
  return new Promise((resolve) => {
    const end = () => resolve({ is: "failed", why: "the gateway stopped" });
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
    void sending.then((mailed) => {
      signal.removeEventListener("abort", end);
      resolve(mailed);
    });
  });
}

/** The receiver or the mail itself is not wanted; anything else may be put right by somebody. */
const FOR_GOOD = ["EENVELOPE", "EMESSAGE"];

/** Codes only: what a mail server says may hold addresses and more. */
function failureOf(error: unknown): MailResult {
  const status = error instanceof Error && "responseCode" in error ? error.responseCode : undefined;
  const code = error instanceof Error && "code" in error ? String(error.code).slice(0, 40) : "unknown fault";
  if (typeof status !== "number") return { is: "failed", why: `the mail server cannot be used (${code})` };
  if (status >= 500 && FOR_GOOD.includes(code)) return { is: "refused", why: `the mail server refused it (${status})` };
  return { is: "failed", why: `the mail server did not take it (${status})` };
}
