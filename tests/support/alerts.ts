import { createServer, type Socket } from "node:net";
import { Alerts } from "../../src/app/alerts/alerts.ts";
import type { AlertDeps } from "../../src/app/alerts/deps.ts";
import { AlertMonitor } from "../../src/domain/alerts/alert-monitor.ts";
import { MasterKeys } from "../../src/io/master-keys.ts";
import type { Store } from "../../src/io/store/sql/store.ts";
import { openVault } from "../../src/io/vault.ts";
import { createIdGenerator } from "../../src/kit/id-generator.ts";
import { systemTimers } from "../../src/kit/timers.ts";

type QuietParts = Pick<AlertDeps, "directory" | "state" | "ownKeys" | "clock"> & { readonly store: Store };

/** Alerts that send nothing and never evaluate: for the management use cases. */
export function quietAlerts({ store, ...parts }: QuietParts): Alerts {
  return new Alerts({
    ...parts,
    store: store.alerts,
    vault: openVault(new MasterKeys(Buffer.alloc(32, 3)), store.dataKeys),
    ids: createIdGenerator(parts.clock.nowMs),
    monitor: new AlertMonitor(),
    timers: systemTimers,
    random: () => 0.5,
    post: async () => ({ is: "failed", why: "no receiver is called here" }),
    mail: undefined,
    addressProblem: async () => undefined,
    retryPolicy: { baseDelayMs: 1, maxDelayMs: 1, attemptsMax: 1, ageMsMax: 1 },
    everyMs: 3_600_000,
    onAttempt: () => undefined,
    warn: () => undefined,
  });
}

export type ReceivedMail = { readonly from: string; readonly to: readonly string[]; readonly text: string };

export type Mailbox = {
  readonly url: string;
  readonly mails: readonly ReceivedMail[];
  /** Replies to the next recipients, instead of 250. */
  refuse(code: number | undefined): void;
  close(): Promise<void>;
};

/** A mail server on loopback that keeps its mails. */
export async function openMailbox(): Promise<Mailbox> {
  const mails: ReceivedMail[] = [];
  const sockets = new Set<Socket>();
  let refusal: number | undefined;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
    talk(
      socket,
      () => refusal,
      (mail) => mails.push(mail),
    );
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    refuse: (code) => {
      refusal = code;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

function talk(socket: Socket, refusal: () => number | undefined, keep: (mail: ReceivedMail) => void): void {
  let [from, to, lines, isData] = ["", [] as string[], [] as string[], false];
  let rest = "";
  const reply = (text: string) => socket.write(`${text}\r\n`);
  const take = (line: string) => {
    if (isData && line !== ".") lines.push(line.replace(/^\.\./, "."));
    else if (isData) {
      keep({ from, to, text: lines.join("\n") });
      [from, to, lines, isData] = ["", [], [], false];
      reply("250 kept");
    } else if (/^EHLO/i.test(line)) reply("250 mailbox");
    else if (/^MAIL FROM:/i.test(line)) {
      from = /<(.*?)>/.exec(line)?.[1] ?? "";
      reply("250 ok");
    } else if (/^RCPT TO:/i.test(line)) {
      const code = refusal();
      if (code === undefined) to.push(/<(.*?)>/.exec(line)?.[1] ?? "");
      reply(code === undefined ? "250 ok" : `${code} no`);
    } else if (/^DATA/i.test(line)) {
      isData = true;
      reply("354 go on");
    } else if (/^QUIT/i.test(line)) socket.end("221 bye\r\n");
    else reply("250 ok");
  };
  reply("220 mailbox");
  socket.setEncoding("utf8");
  socket.on("data", (chunk: string) => {
    const parts = `${rest}${chunk}`.split("\r\n");
    rest = parts.pop() ?? "";
    for (const line of parts) take(line);
  });
}
