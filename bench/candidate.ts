import type { ChildProcess } from "node:child_process";
import type { Children } from "./children.ts";
import type { Target } from "./load.ts";
import { requestBody } from "./payload.ts";

export const CANDIDATES = ["direct", "nginx", "bare", "gateway", "shared", "portkey", "litellm"] as const;
/** `earlier` is the gateway of another checkout, measured in the same run to compare two commits; `peer:` begins those of --peer. */
export type CandidateName = (typeof CANDIDATES)[number] | "earlier" | `peer:${string}`;

export function isPeer(name: CandidateName): boolean {
  return name === "portkey" || name === "litellm" || name.startsWith("peer:");
}

/** Another gateway, and how to start it. */
export type Peer = { readonly name: string; readonly command: string };

export type Shape = { readonly is: "json" } | { readonly is: "stream"; readonly paceMs: number };

/** The environment of every candidate. */
export type Bench = {
  readonly children: Children;
  readonly node: string;
  readonly root: string;
  /** The checkout of `earlier`. */
  readonly earlierRoot?: string | undefined;
  /** Scratch folder of this run. */
  readonly folder: string;
  readonly upstream: { readonly json: number; readonly stream: number };
  /** Replaces `bin/gateway serve`, for profiles. */
  readonly gatewayCommand?: readonly string[];
};

/** A prepared candidate: how to start it and how to call it. */
export type Prepared = {
  readonly title: string;
  readonly version: string;
  /** Absent for the direct call, which has no process in between. */
  readonly launch?: () => ChildProcess;
  /** CPU microseconds so far of the Redis that instances share. */
  readonly redisCpu?: () => Promise<number>;
  /** It formats the frames of a stream itself, and may merge or add a few. */
  readonly reframes?: true;
  readonly target: (shape: Shape) => Target;
  /** A chat stream whose upstream speaks the messages format; absent where a candidate does not translate. */
  readonly translated?: Target;
  /** Checks after the run whether the results are valid; returns the reason when they are not. */
  readonly check?: () => Promise<string | undefined>;
};

export function bodyFor(model: string, shape: Shape): string {
  return requestBody(model, shape.is === "stream" ? shape : undefined);
}
