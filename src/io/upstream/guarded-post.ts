import type { IncomingHttpHeaders } from "node:http";
import type { ResponseBodyHandler } from "../../http1/client/contract.ts";
import { dialTargetOf } from "../../http1/client/dial.ts";
import { OriginPool, sendOnPool } from "../../http1/client/http-client.ts";
import { IdleWatchdog } from "../../http1/client/idle-watchdog.ts";
import { type EgressRules, guardedLookup, parseEgressUrl } from "./egress.ts";
import type { UpstreamFailure } from "./transport.ts";

/** The outcome of a POST to a URL of a workspace. */
export type GuardedPostResult =
  | { readonly is: "answered"; readonly status: number; readonly body?: string }
  /** The URL is not allowed. */
  | { readonly is: "refused"; readonly why: string }
  | { readonly is: "failed"; readonly why: string };

export type GuardedPostRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
  /** Reads the body of a response with status 200, which is refused if it is longer; absent: only the status is read. */
  readonly replyBytesMax?: number;
};

export type GuardedPost = (post: GuardedPostRequest) => Promise<GuardedPostResult>;

const HEADER_BYTES_MAX = 16 * 1024;

/**
 * Posts to URLs of workspaces: the URL is parsed, resolved, all its addresses checked, and one of them connected. Each
 * request has its own connection, so workspaces share none. Redirects are not followed.
 */
export function createGuardedPost(rules: EgressRules, timeoutMs: number, nameServers?: readonly string[]): GuardedPost {
  const limits = {
    connections: 1,
    connectTimeoutMs: timeoutMs,
    firstByteTimeoutMs: timeoutMs,
    idleTimeoutMs: timeoutMs,
    headBytesMax: HEADER_BYTES_MAX,
  };
  return async (post) => {
    const url = parseEgressUrl(post.url, rules);
    if ("problem" in url) return { is: "refused", why: url.problem };
    const dialTarget = { ...dialTargetOf(url), lookup: guardedLookup(rules, nameServers) };
    const pool = new OriginPool(dialTarget, limits, new IdleWatchdog(timeoutMs));
    try {
      return await sendPost(pool, url, post, timeoutMs);
    } finally {
      pool.abort();
    }
  };
}

function sendPost(
  pool: OriginPool,
  { host, pathname, search }: URL,
  post: GuardedPostRequest,
  timeoutMs: number,
): Promise<GuardedPostResult> {
  return new Promise((resolve) => {
    const deadline = AbortSignal.any([post.signal, AbortSignal.timeout(timeoutMs)]);
    const settle = (result: GuardedPostResult) => {
      deadline.removeEventListener("abort", abort);
      resolve(result);
    };
    const abort = () => call.abort();
    const call = sendOnPool(pool, { host, path: `${pathname}${search}` }, post, {
      onFailure: (failure) => settle(resultOfFailure(failure)),
      onHeaders: (status, headers) => {
        const { replyBytesMax } = post;
        if (replyBytesMax !== undefined && status === 200) return bodyReader(headers, replyBytesMax, settle);
        settle({ is: "answered", status });
        return IGNORED_BODY;
      },
    });
    deadline.addEventListener("abort", abort);
    if (deadline.aborted) abort();
  });
}

const IGNORED_BODY: ResponseBodyHandler = { onData: () => "pause", onEnd() {}, onFailure() {} };

function bodyReader(
  { "content-encoding": encoding = "identity" }: IncomingHttpHeaders,
  bytesMax: number,
  settle: (result: GuardedPostResult) => void,
): ResponseBodyHandler {
  if (encoding !== "identity") {
    settle({ is: "failed", why: "the receiver compressed its response" });
    return IGNORED_BODY;
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  return {
    onData(chunk) {
      bytes += chunk.length;
      if (bytes <= bytesMax) {
        chunks.push(chunk);
        return "more";
      }
      settle({ is: "failed", why: `the receiver's response is longer than ${bytesMax} bytes` });
      return "pause";
    },
    onEnd: () => settle({ is: "answered", status: 200, body: Buffer.concat(chunks).toString() }),
    onFailure: (failure) => settle(resultOfFailure(failure)),
  };
}

function resultOfFailure({ kind, why }: UpstreamFailure): GuardedPostResult {
  if (why === "EgressRefusedError")
    return { is: "refused", why: "the host name resolves to a private or reserved network" };
  const failed = (text: string): GuardedPostResult => ({ is: "failed", why: text });
  if (kind === "timeout" || kind === "aborted") return failed("the receiver did not respond in time");
  if (why === "ENOTFOUND" || why === "EAI_AGAIN") return failed("the host name cannot be resolved");
  return failed(kind === "connect" ? `the receiver is unreachable (${why})` : `the connection was lost (${why})`);
}

/** Checks a URL before it is stored; undefined: it is allowed and resolves now. */
export async function egressUrlProblem(
  text: string,
  rules: EgressRules,
  nameServers?: readonly string[],
): Promise<string | undefined> {
  const url = parseEgressUrl(text, rules);
  if ("problem" in url) return url.problem;
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return new Promise((resolve) => {
    guardedLookup(rules, nameServers)(host, { all: true }, (error) => {
      if (error === null) resolve(undefined);
      else if (error.name === "EgressRefusedError") resolve(error.message);
      else resolve(`the host name ${host.slice(0, 100)} cannot be resolved`);
    });
  });
}
