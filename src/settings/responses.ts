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
  GATEWAY_ANSWER_MAX_PARTS: setting(
    integer(1_000, 100_000),
    6_000,
    "Most objects and lists in the part of a long response that is read item by item in one turn of the event loop, such as choices or content.",
  ),
  GATEWAY_ANSWER_MAX_TEXT: setting(
    integer(65_536, 33_554_432),
    1024 * 1024,
    "Most characters of generated text in a response that is translated to another API or rewritten.",
  ),
  GATEWAY_ANSWER_MAX_EVENT_TEXT: setting(
    integer(65_536, 33_554_432),
    1024 * 1024,
    "The same in one stream event, and in the arguments of one tool call.",
  ),
  GATEWAY_ANSWER_MAX_EVENT: setting(
    integer(65_536, 268_435_456),
    16 * 1024 * 1024,
    "Longest stream event of a provider, in characters.",
  ),
  GATEWAY_ANSWER_MAX_BINARY_EVENT: setting(
    integer(65_536, 16_777_216),
    2 * 1024 * 1024,
    "Longest binary stream event of Amazon Bedrock, in bytes. It is checked and decoded in one turn of the event loop.",
  ),
  GATEWAY_ANSWER_MAX_PREAMBLE: setting(
    integer(65_536, 33_554_432),
    1024 * 1024,
    "Most characters of the stream events before the first content, which are held back until it arrives. Instructions and tools that a provider echoes there are added.",
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
