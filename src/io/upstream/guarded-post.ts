import { dialTargetOf, sendOnPool } from "../../http1/client/http-client.ts";
import { IdleWatchdog } from "../../http1/client/idle-watchdog.ts";
import { OriginPool } from "../../http1/client/origin-pool.ts";
import { type EgressRules, guardedLookup, parseEgressUrl } from "./egress.ts";
import type { UpstreamFailure } from "./transport.ts";

/** What became of a message to an address that a workspace chose. */
export type GuardedPostResult =
  | { readonly is: "answered"; readonly status: number }
  /** It leads where nothing is sent. */
  | { readonly is: "refused"; readonly why: string }
  | { readonly is: "failed"; readonly why: string };

export type GuardedPostRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
};

export type GuardedPost = (post: GuardedPostRequest) => Promise<GuardedPostResult>;

const HEADER_BYTES_MAX = 16 * 1024;

/**
 * Sends to an address that a workspace chose: parsed, resolved, every address of it looked at, and connected to one of
 * those. Each message has a connection of its own, so that none is shared between workspaces. Redirects are not
 * followed, and of the answer nothing but its status is read.
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
    const read = parseEgressUrl(post.url, rules);
    if ("problem" in read) return { is: "refused", why: read.problem };
    const dialling = { ...dialTargetOf(read), lookup: guardedLookup(rules, nameServers) };
    const origin = new OriginPool(dialling, limits, new IdleWatchdog(timeoutMs));
    try {
      return await posted(origin, read, post, timeoutMs);
    } finally {
      origin.abort();
    }
  };
}

function posted(
  pool: OriginPool,
  { host, pathname, search }: URL,
  post: GuardedPostRequest,
  timeoutMs: number,
): Promise<GuardedPostResult> {
  return new Promise((resolve) => {
    const deadline = AbortSignal.any([post.signal, AbortSignal.timeout(timeoutMs)]);
    const settle = (found: GuardedPostResult) => {
      deadline.removeEventListener("abort", abort);
      resolve(found);
    };
    const abort = () => call.abort();
    const call = sendOnPool({ pool, host, path: `${pathname}${search}` }, post, {
      onFailure: (failure) => settle(notSent(failure)),
      onHeaders: (status) => {
        settle({ is: "answered", status });
        return { onData: () => "pause", onEnd() {}, onFailure() {} };
      },
    });
    deadline.addEventListener("abort", abort);
    if (deadline.aborted) abort();
  });
}

function notSent({ kind, why }: UpstreamFailure): GuardedPostResult {
  if (why === "EgressRefused") return { is: "refused", why: "its name leads into a private or reserved network" };
  const failed = (text: string): GuardedPostResult => ({ is: "failed", why: text });
  if (kind === "timeout" || kind === "aborted") return failed("it did not answer in time");
  if (why === "ENOTFOUND" || why === "EAI_AGAIN") return failed("its name cannot be resolved");
  return failed(kind === "connect" ? `it cannot be reached (${why})` : `the connection broke (${why})`);
}

/** Whether an address may be sent to as its name stands now: asked before it is kept. Undefined: it may. */
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
      else if (error.name === "EgressRefused") resolve(error.message);
      else resolve(`the name ${host.slice(0, 100)} cannot be resolved`);
    });
  });
}
