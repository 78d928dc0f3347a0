/** Surfaces that a deployment can do without. */
export const DISABLED_SURFACE_FAULTS = {
  decisions_not_enabled: {
    status: 404,
    type: "not_found_error",
    says: "Decisions are disabled on this deployment.",
    next: "Ask the operator to enable decisions.",
  },
  audio_not_enabled: {
    status: 404,
    type: "not_found_error",
    says: "Text-to-speech is disabled on this deployment.",
    next: "Ask the operator to enable text-to-speech.",
  },
  gemini_not_enabled: {
    status: 404,
    type: "not_found_error",
    says: "The Gemini API is disabled on this deployment.",
    next: "Use another API of the gateway, or ask the operator to enable it.",
  },
  images_not_enabled: {
    status: 404,
    type: "not_found_error",
    says: "Image generation is disabled on this deployment.",
    next: "Ask the operator to enable images.",
  },
  batches_not_enabled: {
    status: 404,
    type: "not_found_error",
    says: "Files and batches are disabled on this deployment.",
    next: "Send the requests one by one, or ask the operator to enable batches.",
  },
} as const;
