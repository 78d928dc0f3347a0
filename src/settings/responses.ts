import { integer, setting } from "./setting-types.ts";

/** What one response of a provider or node may cost. */
export const RESPONSE_SETTINGS = {
  GATEWAY_ANSWER_MAX_MEMBERS: setting(
    integer(65_536, 10_000_000),
    400_000,
    "Most members and items of a response or stream event, counting objects and arrays. Vectors and log-probabilities are exempt.",
  ),
  GATEWAY_ANSWER_MAX_STRING: setting(
    integer(65_536, 268_435_456),
    32 * 1024 * 1024,
    "Longest string in a response, in characters.",
  ),
  GATEWAY_ANSWER_SLICE_BYTES: setting(
    integer(65_536, 16_777_216),
    1024 * 1024,
    "Bytes of long responses that are read in one turn of the event loop.",
  ),
  GATEWAY_ANSWER_SLICE_MEMBERS: setting(
    integer(4_096, 1_000_000),
    8_000,
    "Members and items of long responses that are read in one turn of the event loop.",
  ),
  GATEWAY_ANSWERS_MEMORY_BYTES: setting(
    integer(1_048_576, 1_099_511_627_776).nullable(),
    null,
    "Memory for the long responses in flight: their text and 100 bytes for each member. Above it a response is rejected with 502. Default: a quarter of the heap limit.",
  ),
  GATEWAY_ANSWERS_WORKSPACE_MEMORY_BYTES: setting(
    integer(1_048_576, 1_099_511_627_776).nullable(),
    null,
    "The share of one workspace in GATEWAY_ANSWERS_MEMORY_BYTES. Default: half of it.",
  ),
};
