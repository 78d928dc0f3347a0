import { z } from "zod";
import { integer, setting } from "./setting-types.ts";

/** Nodes, and the links between instances that forward requests to them. */
export const NODE_SETTINGS = {
  GATEWAY_NODES_MAX: setting(
    integer(0, 10_000),
    100,
    "Maximum nodes per workspace; see the guide on nodes. 0 disables nodes.",
  ),
  GATEWAY_PEER_HOST: setting(
    z.string().min(1),
    "127.0.0.1",
    "With several instances: the address on which this one accepts requests of the others for its connected nodes. 0.0.0.0 or :: is every address of the machine.",
  ),
  GATEWAY_PEER_PORT: setting(
    integer(0, 65535),
    0,
    "Port of GATEWAY_PEER_HOST; 0 picks a free one. Each worker needs its own: leave it 0 with several workers.",
  ),
  GATEWAY_PEER_URL: setting(
    z
      .url({
        protocol: /^https$/,
        error: "must be https:// with the host and port at which other instances reach this one",
      })
      .nullable(),
    null,
    "URL at which other instances reach this one: https://10.0.0.5:7443. Default: GATEWAY_PEER_HOST, or the first external address of the machine, with the port.",
  ),
} as const;
