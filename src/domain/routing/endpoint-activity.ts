import type { QuantileSketch } from "../../kit/quantile-sketch.ts";

export const ACTIVITY_SPANS = ["hour", "day"] as const;
export type ActivitySpan = (typeof ACTIVITY_SPANS)[number];

/** Attempts on one endpoint with the platform's credentials; own keys and nodes of workspaces are not included. */
export type EndpointActivity = {
  readonly endpoint: string;
  served: number;
  /** Failures that the endpoint is to blame for. */
  failed: number;
  /** Total time of served attempts. */
  readonly latencyMs: QuantileSketch;
};

export type ActivityRow = EndpointActivity & { readonly span: ActivitySpan; readonly startMs: number };

export type ActivityStore = {
  /** Replaces what the process stored for the same endpoints and spans before. */
  put(process: string, rows: readonly ActivityRow[]): Promise<void>;
  /** What all processes stored, merged by endpoint. */
  since(span: ActivitySpan, fromMs: number): Promise<EndpointActivity[]>;
  sweep(span: ActivitySpan, beforeMs: number): Promise<void>;
};
