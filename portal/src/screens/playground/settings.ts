import { useSearchParams } from "../../url-state.ts";
import { type Settings, SURFACES } from "./draft.ts";
import type { Environment } from "./playground-key.ts";

/** Optional request parameters in the URL; sent unchanged. */
const NAMES = [
  "max_tokens",
  "temperature",
  "top_p",
  "effort",
  "dimensions",
  "voice",
  "format",
  "speed",
  "language",
] as const;
export type SettingName = (typeof NAMES)[number] | "model";

/** The playground's URL state; it never contains content. */
export function useSettings() {
  const { get, set } = useSearchParams();
  const surface = SURFACES.find(({ id }) => id === get("surface"))?.id ?? "chat";
  const settings: Settings = {
    surface,
    model: get("model"),
    stream: get("stream", "1") !== "0",
    max_tokens: get("max_tokens"),
    temperature: get("temperature"),
    top_p: get("top_p"),
    effort: get("effort"),
    dimensions: get("dimensions"),
    voice: get("voice"),
    format: get("format"),
    speed: get("speed"),
    language: get("language"),
  };
  const environment: Environment = get("env") === "live" ? "live" : "test";
  return {
    settings,
    environment,
    change: (name: SettingName, value: string) => set({ [name]: value }),
    setStream: (isOn: boolean) => set({ stream: isOn ? null : "0" }),
    setEnvironment: (to: string) => set({ env: to === "live" ? "live" : null }),
    /** Surfaces differ in models and formats, so these are reset. */
    setSurface: (to: string) =>
      set({ surface: to === "chat" ? null : to, model: null, voice: null, format: null }, "push"),
  };
}
