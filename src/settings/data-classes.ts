import { integer, onOff, setting } from "./setting-types.ts";

/** Data classes that workspaces define. */
export const DATA_CLASS_SETTINGS = {
  GATEWAY_DATA_CLASSES_MAX: setting(
    integer(0, 100),
    20,
    "Maximum data classes that a workspace defines; see the guide on data classes. 0 disables them.",
  ),
  GATEWAY_DATA_CLASS_TERMS_MAX: setting(
    integer(1, 100_000),
    100_000,
    "Maximum terms of one data class. A term takes about a kilobyte of memory for 20 characters while it is in use.",
  ),
  GATEWAY_DATA_CLASS_PATTERNS_MAX: setting(
    integer(0, 200),
    50,
    "Maximum patterns of one data class. Each is looked for in every inspected text. 0 disables patterns.",
  ),
  GATEWAY_DETECTOR_PRIVATE: setting(
    onOff,
    "off",
    "External detectors of data classes may use plain HTTP and private networks: only where every workspace is trusted. Off: public https URLs only.",
  ),
} as const;
