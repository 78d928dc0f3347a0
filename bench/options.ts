import { parseArgs } from "node:util";
import { CANDIDATES, type CandidateName, type Peer } from "./candidate.ts";
import { parsePeer, peerName } from "./peer.ts";

/** Whole seconds, because wrk accepts no fractions. */
export type Sizes = {
  readonly repetitions: number;
  readonly starts: number;
  readonly warmSeconds: number;
  readonly jsonSeconds: number;
  readonly burstSeconds: number;
  readonly pacedSeconds: number;
  readonly latencySeconds: number;
  readonly openStreams: number;
  readonly openSeconds: number;
  /** For the gateway only. */
  readonly manySeconds: number;
  /** For each step of the connection ramp. */
  readonly ladderSeconds: number;
  readonly cancels: number;
};

export type Options = {
  readonly mode: "full" | "quick";
  readonly only: readonly CandidateName[];
  /** Another checkout of the gateway, measured in the same run. */
  readonly against: string | undefined;
  /** Other gateways, measured in the same run. */
  readonly peers: readonly Peer[];
  readonly profile: boolean;
  readonly help: boolean;
  readonly sizes: Sizes;
};

const FULL: Sizes = {
  repetitions: 3,
  starts: 3,
  warmSeconds: 12,
  jsonSeconds: 8,
  burstSeconds: 8,
  pacedSeconds: 6,
  latencySeconds: 4,
  openStreams: 500,
  openSeconds: 6,
  manySeconds: 10,
  ladderSeconds: 3,
  cancels: 20,
};

const QUICK: Sizes = {
  repetitions: 2,
  starts: 1,
  warmSeconds: 2,
  jsonSeconds: 2,
  burstSeconds: 2,
  pacedSeconds: 1,
  latencySeconds: 0.5,
  openStreams: 500,
  openSeconds: 2,
  manySeconds: 4,
  ladderSeconds: 1,
  cancels: 5,
};

export const USAGE = `npm run bench -- [--quick] [--only ${CANDIDATES.join(",")}] [--peer name=command] [--against <folder>] [--profile]

--quick    a few minutes, less exact; docs/benchmarks.md stays as it is
--only     these candidates alone; docs/benchmarks.md stays as it is
--peer     also measures another gateway that speaks OpenAI's format; may be given several times. The command is one program with
           its arguments, with placeholders:
             {port}    the port to listen on, on 127.0.0.1
             {json}    base URL of the upstream for the model bench-json, which answers without streaming
             {stream}  base URL of the upstream for the model bench-stream, which streams
           A gateway with one upstream uses {stream} for both models. Example: --peer "other=./start-other {port} {json} {stream}"
--against  also measures the gateway of another checkout, to compare two commits in one run
--profile  the gateway alone under Node's CPU profiler: where its time goes, for non-streaming responses and for streams`;

export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean" },
      only: { type: "string" },
      peer: { type: "string", multiple: true },
      against: { type: "string" },
      profile: { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  const named = values.only?.split(",").filter((name) => name !== "");
  const unknown = named?.find((name) => !CANDIDATES.some((candidate) => candidate === name));
  if (unknown !== undefined) throw new Error(`there is no candidate "${unknown}"; there are ${CANDIDATES.join(", ")}`);
  const chosen = named === undefined ? CANDIDATES : CANDIDATES.filter((name) => named.includes(name));
  const peers: Peer[] = [];
  for (const text of values.peer ?? [])
    peers.push(parsePeer(text, [...CANDIDATES, "earlier", ...peers.map(({ name }) => name)]));
  const mode = values.quick === true ? "quick" : "full";
  return {
    mode,
    only: [...chosen, ...peers.map(peerName), ...(values.against === undefined ? [] : (["earlier"] as const))],
    peers,
    against: values.against,
    profile: values.profile === true,
    help: values.help === true,
    sizes: mode === "quick" ? QUICK : FULL,
  };
}
