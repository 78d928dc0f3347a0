import type { SharedState } from "../../domain/admission/admission.ts";
import type { Connections, Snapshot } from "../../domain/catalogue/catalogue.ts";
import type { RequestRecord } from "../../domain/record/record.ts";
import type { Health } from "../../domain/routing/health.ts";
import type { Reach } from "../../domain/routing/reach.ts";
import type { Policy } from "../../domain/tenancy/policy.ts";
import type { Journal } from "../../io/journal/types.ts";
import type { TokenCounter } from "../../io/tokens/token-counter.ts";
import type { Transport } from "../../io/upstream/transport.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Exchange } from "../exchange.ts";

/** Everything the request path is given. Built once, in main.ts. */
export type Gateway = {
  readonly clock: Clock;
  readonly snapshot: () => Snapshot;
  readonly connections: Connections;
  readonly reach: Reach;
  readonly health: Health;
  readonly state: SharedState;
  readonly journal: Journal;
  readonly transport: Transport;
  readonly tokens: TokenCounter;
  /** Throws when the key was revoked or narrowed while the body was on its way, which can take minutes. */
  readonly recheck: (exchange: Exchange) => void;
  /** The policy in force now: asked again before every attempt. */
  readonly policyOf: (workspaceId: string) => Policy | undefined;
  readonly limits: Limits;
  /** Told of every finished request, for metrics and the log. */
  readonly finished: (record: RequestRecord) => void;
};

export type Limits = {
  readonly holdOutputTokens: number;
  readonly requestTimeoutMs: number;
  readonly answerMaxBytes: number;
  readonly frameMaxChars: number;
  readonly keepAliveMs: number;
  readonly attemptsMax: number;
};
