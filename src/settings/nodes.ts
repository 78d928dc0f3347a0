import { z } from "zod";
import { integer, setting } from "./setting-types.ts";

/** Machines of workspaces' own, and the way between instances to those that are connected to another one. */
export const NODE_SETTINGS = {
  GATEWAY_NODES_MAX: setting(
    integer(0, 10_000),
    100,
    "Nodes of one workspace; see the guide on nodes. 0: no workspace can add any.",
  ),
  GATEWAY_PEER_HOST: setting(
    z.string().min(1),
    "127.0.0.1",
    "With several instances: the address on which this one takes requests of the others for nodes that are connected to it. 0.0.0.0 or :: is every address of the machine.",
  ),
  GATEWAY_PEER_PORT: setting(
    integer(0, 65535),
    0,
    "The port of that; 0 picks a free one. Workers of one machine need one each: leave it 0 there.",
  ),
  GATEWAY_PEER_URL: setting(
    z
      .url({
        protocol: /^https$/,
        error: "write https:// with the host and port by which the others reach this instance",
      })
      .nullable(),
    null,
    "Where the others reach it: https://10.0.0.5:7443. Default: GATEWAY_PEER_HOST, or where that is every address the first one of the machine, with the port.",
  ),
} as const;
