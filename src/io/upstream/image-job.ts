import { JsonDocument } from "../../kit/json-document.ts";
import { SseReader } from "../../kit/sse.ts";
import type { UnusableReply, WholeReply } from "../../language/canon/reply.ts";
import { NO_TOKENS } from "../../language/canon/usage.ts";
import type { ImageOrder } from "../../language/images/call.ts";
import type { ImageJobFormat, ImageJobStep } from "../../language/images/job-format.ts";
import type { ImageReply } from "../../language/images/wire-format.ts";
import type { RequestSequence, UpstreamAdapter } from "./upstream-adapter.ts";

type ImageJobOptions = {
  readonly order: ImageOrder;
  /** Addresses in replies must belong to its domain. */
  readonly baseUrl: string;
  /** The caller requested a stream. */
  readonly isWhole: boolean;
  readonly complete: (reply: ImageReply) => WholeReply | UnusableReply;
};

const POLL_MS = 500;

/** The requests of one image that a provider generates in the background. */
export function imageJobAdapter(
  format: ImageJobFormat,
  { order, baseUrl, isWhole, complete }: ImageJobOptions,
): UpstreamAdapter {
  let state: ImageJobStep = { is: "wait", url: undefined, id: null };
  let pollUrl = "";
  let polls = 0;
  let id: string | null = null;
  const read = (body: unknown): WholeReply | UnusableReply | undefined => {
    const step = format.read(body);
    if (step === undefined) return undefined;
    state = step;
    if (step.is === "wait") {
      id ??= step.id;
      pollUrl = step.url === undefined ? pollUrl : absoluteUrl(step.url, baseUrl);
    }
    const url = step.is === "wait" ? pollUrl : step.is === "fetch" ? absoluteUrl(step.url, baseUrl) : undefined;
    if (url !== undefined && !belongsTo(url, baseUrl)) return { unusable: "an address outside the provider's domain" };
    if (step.is === "failed") return { unusable: step.why };
    if (step.is === "refused") return complete({ facts: {}, id, images: [], usage: step.usage, refused: step.reason });
    return { usage: NO_TOKENS, upstreamId: id, outputWeight: 0, render: () => "" };
  };
  const base = {
    surface: null,
    headers: {},
    streamContentType: "application/json",
    keepAliveFrame: "",
    effort: undefined,
    isWhole: isWhole || undefined,
    openFrameReader: ({ frameMaxChars }: { readonly frameMaxChars: number }) => new SseReader(frameMaxChars),
    openReplyStream() {
      throw new Error("an image job has no stream");
    },
    decodeProblem: format.decodeProblem,
  };
  const asking: UpstreamAdapter = {
    ...base,
    path: "",
    auth: format.auth,
    method: "GET",
    encode: () => "",
    decodeResponse: (source) => read(JsonDocument.of(source).value),
  };
  const sequence: RequestSequence = {
    next() {
      if (state.is === "wait") {
        polls += 1;
        return { adapter: { ...asking, path: pollUrl }, afterMs: polls === 1 ? 0 : POLL_MS };
      }
      if (state.is !== "fetch") return undefined;
      const { url, credential, usage } = state;
      state = { is: "failed", why: "the image was fetched" };
      const fetching: UpstreamAdapter = {
        ...asking,
        path: absoluteUrl(url, baseUrl),
        auth: credential === "own" ? format.auth : "none",
        headers: { accept: "image/*" },
        decodeResponse: () => undefined,
        decodeBytes: (bytes) =>
          complete({ facts: {}, id, usage, images: [{ base64: bytes.toString("base64"), revisedPrompt: undefined }] }),
      };
      return { adapter: fetching, afterMs: 0 };
    },
  };
  return {
    ...asking,
    path: format.path(order),
    method: "POST",
    encode: () => JSON.stringify(format.encode(order)),
    sequence,
  };
}

/** Each job has its own path: as a path it would be kept with the few that requests begin with. */
const absoluteUrl = (url: string, baseUrl: string) =>
  url.startsWith("/") && !url.startsWith("//") ? `${baseUrl}${url}` : url;

/** Labels below which countries register names, as in `co.uk`. */
const REGISTRIES: ReadonlySet<string> = new Set(["ac", "co", "com", "edu", "gov", "ne", "net", "or", "org"]);

/** An HTTPS address of the provider's domain: the credential and the workspace's data must not go elsewhere. */
export function belongsTo(url: string, baseUrl: string): boolean {
  if (!URL.canParse(url)) return false;
  const [target, base] = [new URL(url), new URL(baseUrl)];
  if (target.username !== "" || target.password !== "") return false;
  if (target.origin === base.origin) return true;
  const labels = base.hostname.split(".");
  const domain = labels.slice(REGISTRIES.has(labels.at(-2) ?? "") ? -3 : -2).join(".");
  const isName = /[a-z]$/i.test(base.hostname) && labels.length > 1;
  return target.protocol === "https:" && target.port === "" && isName && target.hostname.endsWith(`.${domain}`);
}
