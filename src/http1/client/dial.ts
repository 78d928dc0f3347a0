import { connect as connectPlain, isIP, type LookupFunction, type OnReadOpts, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

export type DialTarget = {
  readonly protocol: "http:" | "https:";
  /** A name, or an address without brackets. */
  readonly host: string;
  readonly port: number;
  /** Replaces the system's name resolution. */
  readonly lookup?: LookupFunction;
};

/** The last TLS session with an origin, for resumption. */
export type TlsSessionCache = { tlsSession: Buffer | undefined };

const TCP_KEEPALIVE_MS = 60_000;

/** Opens a connection; `onConnected` is called after the TLS handshake, if there is one. */
export function dial(
  { protocol, host, port, lookup }: DialTarget,
  onread: OnReadOpts,
  sessions: TlsSessionCache,
  onConnected: () => void,
): Socket {
  const options = {
    host,
    port,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: TCP_KEEPALIVE_MS,
    onread,
    ...(lookup === undefined ? {} : { lookup }),
  };
  return protocol === "http:" ? connectPlain(options, onConnected) : dialTls(options, sessions, onConnected);
}

function dialTls(
  options: { readonly host: string; readonly port: number },
  sessions: TlsSessionCache,
  onConnected: () => void,
): Socket {
  const socket = connectTls(
    {
      ...options,
      ALPNProtocols: ["http/1.1"],
      ...(isIP(options.host) === 0 ? { servername: options.host } : {}),
      ...(sessions.tlsSession === undefined ? {} : { session: sessions.tlsSession }),
    },
    onConnected,
  );
  socket.on("session", (session) => {
    sessions.tlsSession = session;
  });
  return socket;
}

export function dialTargetOf({ protocol, hostname, port }: URL): DialTarget {
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  if (protocol === "https:") return { protocol, host, port: port === "" ? 443 : Number(port) };
  return { protocol: "http:", host, port: port === "" ? 80 : Number(port) };
}
