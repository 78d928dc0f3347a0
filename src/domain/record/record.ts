import type { Surface } from "../../contract/surfaces.ts";
import type { JsonObject } from "../../kit/json.ts";
import type { Need } from "../../language/canon/need.ts";
import type { Parameter } from "../../language/canon/parameters.ts";
import type { RoutingHints } from "../../language/canon/routing-hints.ts";
import type { Usage } from "../../language/canon/usage.ts";
import type { LevelState } from "../tenancy/policy.ts";
import type { NodeUse } from "../tenancy/router.ts";

export type { Surface };

/** Calls with an expired or revoked key are logged with this status and do not count as use of the key. */
export const REJECTED_KEY_STATUS = 401;

/** Tokens, or the units that speech and transcription are billed by. */
export type UsageRecord = Usage & {
  readonly characters: number | null;
  readonly seconds: number | null;
  /** Generated images; absent when there are none. */
  readonly images?: number;
  /** Search units of a ranking; absent: not billed by them. */
  readonly searchUnits?: number;
  /** The number of inputs the counts cover; absent: one. Inputs without individual counts are priced by the mean. */
  readonly inputs?: number;
  /** Uses of separately billed features by name; absent when there are none. */
  readonly extras?: Readonly<Record<string, number>>;
  /** The provider reported no usage, so the counts are the gateway's own estimate. */
  readonly estimated: boolean;
};

export type AttemptRecord = {
  readonly endpoint: string;
  readonly provider: string;
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly outcome: "served" | "retry" | "next" | "stop" | "cancelled";
  readonly upstreamStatus: number | null;
  /** Contains no content and no secrets. */
  readonly reason: string;
  /** The provider may have accepted the request although no response arrived. */
  readonly maybeAccepted: boolean;
  /** Sent with the workspace's own key. */
  readonly ownKey?: true;
};

export type CandidateRecord = {
  readonly endpoint: string;
  readonly model: string;
  readonly provider: string;
  readonly level: LevelState;
  /** The level of an own node is an admin's attestation. */
  readonly attested?: true;
  readonly outcome: "planned" | "excluded";
  /** The rule that excluded it, or why it has its rank. */
  readonly reason: string;
  readonly scores: Readonly<Record<string, number>> | null;
};

/** The requirements of a call, so that its plan can be replayed. Empty ones are omitted. The field names are stored. */
export type RequirementsRecord = {
  readonly needs?: readonly Need[];
  readonly parameters?: readonly Parameter[];
  /** Parameters that were sent with their default value. */
  readonly usual?: readonly Parameter[];
  /** A field that exists only in the caller's dialect. */
  readonly native?: string;
  readonly maxOutputTokens?: number;
  readonly wishes?: StoredHints;
};

/** Session ids are free text of the caller and are not stored; neither are long preferences. */
export type StoredHints = Omit<RoutingHints, "sessionId" | "provider"> & {
  readonly provider?: NonNullable<RoutingHints["provider"]> | "too long to keep";
};

export type DecisionRecord = {
  readonly candidates: readonly CandidateRecord[];
  /** Endpoints in the order of attempts. */
  readonly order: readonly string[];
  readonly reason?: string;
  readonly demand?: RequirementsRecord;
  /** The workspace's router that decided. */
  readonly router?: { readonly slug: string; readonly version: number };
  /** How the router uses the workspace's own nodes. */
  readonly nodes?: NodeUse;
  /** Weights of the score components. */
  readonly weights?: { readonly quality: number; readonly cost: number; readonly latency: number };
  /** The session affinity and its effect. */
  readonly session?: {
    readonly endpoint: string;
    /** Tokens of the conversation in the endpoint's prompt cache. */
    readonly tokens: number;
    readonly use: "first" | "weighed" | "not_eligible";
  };
};

/** The charge with everything needed to recompute it. Amounts are decimal strings of nano-units. */
export type ChargeRecord = {
  readonly nanos: string;
  readonly currency: string;
  /** The catalogue's price row; for declined requests only its input prices. */
  readonly price: Readonly<Record<string, unknown>>;
  /** Units of the provider's currency per unit of the wallet's, as exact decimals; null when they are the same. */
  readonly rate: {
    readonly from: string;
    readonly to: string;
    readonly perEurFrom: string;
    readonly perEurTo: string;
  } | null;
  /** The operator's margin as a share of the price. */
  readonly margin?: string;
};

/** One finished request without its content: a log row and, when charged, the source of its ledger transaction. */
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
  /** With a router: its `slug@version`, or empty for one of the gateway itself. */
  readonly routerVersion?: string;
  /** Data classes that were found in the request, sorted and separated by commas; absent: none. */
  readonly dataClasses?: string;
  /** What was done to them before the serving endpoint received the request: `none`, `pseudonymised`, `redacted` or both. */
  readonly dataAction?: string;
  readonly streaming: boolean;
  readonly status: number;
  readonly errorCode: string | null;
  readonly usage: UsageRecord | null;
  readonly charge: ChargeRecord | null;
  /** Set when the request was charged: until `untilMs` a call with the same `Idempotency-Key` is not executed again. */
  readonly idempotency?: { readonly key: string; readonly body: string; readonly untilMs: number };
  readonly ttfbMs: number | null;
  readonly totalMs: number;
  readonly overheadMs: number;
  readonly attempts: readonly AttemptRecord[];
  readonly decision: DecisionRecord | null;
  /** Served with the workspace's own key, and therefore not charged. */
  readonly ownKey?: true;
  /** The workspace's own node that served it. */
  readonly nodeId?: string;
  /** The level of that node is an admin's attestation. */
  readonly attested?: true;
  /** The caller's trace, as W3C Trace Context. */
  readonly trace?: string;
  /** Paths of fields of the request or reply that were not carried, as reported to the caller; absent: all were. */
  readonly omitted?: readonly string[];
  /** Surface-specific facts, such as the audio format or the number of questions. Never content. */
  readonly detail?: JsonObject;
};

/** Filters on request shapes. `model` matches the served or the requested model. */
export type ShapeFilter = {
  readonly keyId?: string;
  readonly memberId?: string;
  readonly model?: string;
  readonly provider?: string;
  readonly app?: string;
  readonly environment?: "live" | "test";
  readonly status?: number;
  /** 4 matches every status from 400 to 499. */
  readonly statusClass?: number;
  readonly surface?: Surface;
  /** Requests that contain data of this class. */
  readonly dataClass?: string;
};

export type LogFilter = ShapeFilter & {
  readonly sinceMs?: number;
  readonly untilMs?: number;
};

/** The request log, newest first. */
export type LogStore = {
  list(
    workspaceId: string,
    filter: LogFilter,
    limit: number,
    cursor: string | null,
  ): Promise<{ rows: RequestRecord[]; next: string | null }>;
  find(requestId: string): Promise<RequestRecord | undefined>;
  /** The times of the last requests, of workspaces that have one. */
  lastRequestTimes(workspaceIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Creates the partitions of the next days, on an engine that has partitions. */
  prepare(nowMs: number): Promise<void>;
  /** Deletes at most `rowsMax` requests from before the time; returns how many. Roll-ups stay. */
  sweep(beforeMs: number, rowsMax: number): Promise<number>;
};

/** Logged for a request that started and whose end was never recorded. */
export const INTERRUPTED = "interrupted";
