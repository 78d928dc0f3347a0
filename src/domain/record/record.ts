import type { JsonObject } from "../../kit/json.ts";
import type { Need } from "../../language/canon/needs.ts";
import type { Parameter } from "../../language/canon/parameters.ts";
import type { RoutingHints } from "../../language/canon/routing-hints.ts";
import type { Usage } from "../../language/canon/usage.ts";
import type { LevelState } from "../tenancy/policy.ts";
import type { NodeUse } from "../tenancy/router.ts";

/** The surfaces a call can arrive on. */
export const SURFACES = [
  "chat",
  "messages",
  "responses",
  "embeddings",
  "transcriptions",
  "speech",
  "decisions",
] as const;
export type Surface = (typeof SURFACES)[number];

/** The status of a call with a key that is over: it is in the log, and is no use of the key. */
export const REJECTED_KEY_STATUS = 401;

/** What one request used: tokens, or the units that speech and transcription are billed by. */
export type UsageRecord = Usage & {
  readonly characters: number | null;
  readonly seconds: number | null;
  /** Images that were made; absent where none were. */
  readonly images?: number;
  /** How many inputs the figures are of; absent: one. What is told of none by itself is priced by their mean. */
  readonly inputs?: number;
  /** How often something was used that is billed apart, by the name of the extra; absent where nothing was. */
  readonly extras?: Readonly<Record<string, number>>;
  /** True when the provider reported nothing and the figures are the gateway's own count. */
  readonly estimated: boolean;
};

export type AttemptRecord = {
  readonly endpoint: string;
  readonly provider: string;
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly outcome: "served" | "retry" | "next" | "stop" | "cancelled";
  readonly upstreamStatus: number | null;
  /** Why it ended as it did, in words without content or secrets. */
  readonly reason: string;
  /** True when the request may have been accepted although no answer came. */
  readonly maybeAccepted: boolean;
  /** It was made with the workspace's own key at the provider. */
  readonly ownKey?: true;
};

export type CandidateRecord = {
  readonly endpoint: string;
  readonly model: string;
  readonly provider: string;
  readonly level: LevelState;
  readonly outcome: "planned" | "excluded";
  /** Which rule let it fall out, or why it stands where it stands. */
  readonly reason: string;
  readonly scores: Readonly<Record<string, number>> | null;
};

/** What a call needed of an endpoint, so that it can be planned again. What is empty is left out. */
export type RequirementsRecord = {
  readonly needs?: readonly Need[];
  readonly parameters?: readonly Parameter[];
  /** Those of them that were sent with their default values. */
  readonly usual?: readonly Parameter[];
  /** A field that only the caller's own dialect has. */
  readonly native?: string;
  readonly maxOutputTokens?: number;
  readonly wishes?: StoredHints;
};

/** A session is not kept: its name may be anything. Preferences that are long are not kept either. */
export type StoredHints = Omit<RoutingHints, "sessionId" | "provider"> & {
  readonly provider?: NonNullable<RoutingHints["provider"]> | "too long to keep";
};

export type DecisionRecord = {
  readonly candidates: readonly CandidateRecord[];
  /** Endpoints in the order in which they would be tried. */
  readonly order: readonly string[];
  /** One line for people. */
  readonly reason?: string;
  readonly demand?: RequirementsRecord;
  /** The workspace's own router that decided. */
  readonly router?: { readonly slug: string; readonly version: number };
  /** What the router wants of the workspace's own nodes; absent: nothing in particular. */
  readonly nodes?: NodeUse;
  /** What the parts of the score were weighed by. */
  readonly weights?: { readonly quality: number; readonly cost: number; readonly latency: number };
  /** What the conversation left behind, and what was made of it. */
  readonly session?: {
    readonly endpoint: string;
    /** Tokens of the conversation that the endpoint has seen. */
    readonly tokens: number;
    readonly use: "first" | "weighed" | "not_eligible";
  };
};

/** What was charged, with everything needed to compute it again. Amounts are decimal strings of nano-units. */
export type ChargeRecord = {
  readonly nanos: string;
  readonly currency: string;
  /** The price row in force, as the catalogue has it; of what was declined, its figures for input alone. */
  readonly price: Readonly<Record<string, unknown>>;
  /** Units of the provider's currency per unit of the wallet's, as exact decimals; null when they are the same. */
  readonly rate: {
    readonly from: string;
    readonly to: string;
    readonly perEurFrom: string;
    readonly perEurTo: string;
  } | null;
  /** What the operator adds to the price, as a share of it; absent: nothing. */
  readonly margin?: string;
};

/** One finished request, without its content: a row of the log and, when charged, the source of its ledger entry. */
export type RequestRecord = {
  readonly id: string;
  readonly createdAtMs: number;
  readonly workspaceId: string;
  readonly keyId: string;
  readonly memberId: string | null;
  readonly environment: "live" | "test";
  readonly app: string | null;
  readonly clientRequestId: string | null;
  readonly surface: Surface;
  readonly modelRequested: string | null;
  readonly model: string | null;
  readonly provider: string | null;
  readonly endpoint: string | null;
  readonly upstreamId: string | null;
  readonly level: LevelState | null;
  readonly countries: readonly string[] | null;
  readonly router: string | null;
  readonly streaming: boolean;
  readonly status: number;
  readonly errorCode: string | null;
  readonly usage: UsageRecord | null;
  readonly charge: ChargeRecord | null;
  /** The `Idempotency-Key` it came with, when it was charged: until then the same call is not made again. */
  readonly idempotency?: { readonly key: string; readonly body: string; readonly untilMs: number };
  readonly ttfbMs: number | null;
  readonly totalMs: number;
  readonly overheadMs: number;
  readonly attempts: readonly AttemptRecord[];
  readonly decision: DecisionRecord | null;
  /** It was served with the workspace's own key at the provider, and so is not charged. */
  readonly ownKey?: true;
  /** The workspace's own machine that served it; absent: none did. */
  readonly nodeId?: string;
  /** The trace its caller made it part of, in the form of W3C Trace Context. */
  readonly trace?: string;
  /** What only its surface has to say: the format of speech, the number of questions. Never content. */
  readonly detail?: JsonObject;
};

/** By what requests are alike. A model is the one that served or the one that was asked for. */
export type ShapeFilter = {
  readonly keyId?: string;
  readonly memberId?: string;
  readonly model?: string;
  readonly provider?: string;
  readonly app?: string;
  readonly environment?: "live" | "test";
  readonly status?: number;
  /** 4: every status from 400 to 499. */
  readonly statusClass?: number;
  readonly surface?: Surface;
};

export type LogFilter = ShapeFilter & {
  readonly sinceMs?: number;
  readonly untilMs?: number;
};

/** The request log as it is read: newest first, by cursor. */
export type LogStore = {
  list(
    workspaceId: string,
    filter: LogFilter,
    limit: number,
    cursor: string | null,
  ): Promise<{ rows: RequestRecord[]; next: string | null }>;
  find(requestId: string): Promise<RequestRecord | undefined>;
  /** Makes room for the requests of the next days, where that has to be made. */
  prepare(nowMs: number): Promise<void>;
  /** Removes requests from before that time, at most so many; how many it were. What they came to stays. */
  sweep(beforeMs: number, rowsMax: number): Promise<number>;
};
