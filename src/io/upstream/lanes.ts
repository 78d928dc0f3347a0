import type { ChatRequest } from "../../contract/schemas/chat.ts";
import type { DialectId, Endpoint } from "../../domain/catalogue/catalogue.ts";
import { type ParsedBody, patchMembers } from "../../kit/json.ts";
import type { AnswerStream, WholeAnswer } from "../../language/canon/answer.ts";
import type { Call } from "../../language/canon/call.ts";
import type { UpstreamProblem } from "../../language/canon/problem.ts";
import { decodeProblem } from "../../language/dialects/chat/errors.ts";
import { FIELDS } from "../../language/dialects/chat/fields.ts";
import { decodeReply } from "../../language/dialects/chat/reply.ts";
import { directPatches } from "../../language/dialects/chat/request.ts";
import { DirectStream } from "../../language/dialects/chat/stream.ts";

/** A request as it came in: decoded once, its text kept. */
export type Inbound = {
  readonly dialect: "chat";
  readonly call: Call;
  readonly request: ChatRequest;
  readonly body: ParsedBody;
};

/** The way from one inbound request to one endpoint and back. */
export type Lane = {
  /** Which of the provider's APIs is called: the value of X-Svc-Upstream-Surface. */
  readonly surface: "chat" | "responses" | "messages";
  readonly path: string;
  encode(): string;
  decodeWhole(bytes: Buffer): WholeAnswer | undefined;
  openStream(): AnswerStream;
  decodeProblem(body: unknown, status: number): UpstreamProblem;
};

const SPOKEN: ReadonlySet<DialectId> = new Set(["D1"]);

/** An endpoint speaks its first listed dialect; can the gateway speak it too? */
export function isSpoken(endpoint: Endpoint): boolean {
  const [dialect] = endpoint.dialects;
  return dialect !== undefined && SPOKEN.has(dialect);
}

/** How the endpoint's dialect treats a row of the parameter table. */
export function parameterSupport(_endpoint: Endpoint, parameter: string): "taken" | "refused" {
  return FIELDS[parameter] === "400" || FIELDS[parameter] === undefined ? "refused" : "taken";
}

/** Same dialect on both sides: the client's bytes with named patches, the provider's bytes with named patches. */
export function laneFor(inbound: Inbound, endpoint: Endpoint, ownId: string): Lane {
  const { request, call, body } = inbound;
  return {
    surface: "chat",
    path: "/chat/completions",
    encode: () => patchMembers(body, directPatches(request, call, endpoint.upstreamModel)),
    decodeWhole: (answer) => decodeReply(answer, ownId),
    openStream: () => new DirectStream(ownId, call.includeUsage),
    decodeProblem,
  };
}
