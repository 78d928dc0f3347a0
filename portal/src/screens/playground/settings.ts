import { useSearchParams } from "../../url-state.ts";
import { type Parameters, parametersFrom, type SettingName, type Settings, SURFACES, type Surface } from "./draft.ts";
import type { Environment } from "./playground-key.ts";

/** More columns would not fit next to each other. */
export const COMPARED_MAX = 4;

/** The playground's URL state; it never contains content. `model=a,b` compares two models. */
export function useSettings() {
  const { get, set } = useSearchParams();
  const surface = SURFACES.find(({ id }) => id === get("surface"))?.id ?? "chat";
  const parameters = parametersFrom(get);
  const stream = get("stream", "1") !== "0";
  const environment: Environment = get("env") === "live" ? "live" : "test";
  const settings: Omit<Settings, "model"> = { surface, stream, ...parameters };
  return {
    settings,
    parameters,
    /** Empty: the first available model. */
    models: get("model").split(",").filter(Boolean).slice(0, COMPARED_MAX),
    environment,
    change: (name: SettingName, value: string) => set({ [name]: value }),
    setModels: (models: readonly string[]) => set({ model: models.join(",") }),
    setStream: (isOn: boolean) => set({ stream: isOn ? null : "0" }),
    setEnvironment: (to: string) => set({ env: to === "live" ? "live" : null }),
    /** Surfaces differ in models and formats, so these are reset. */
    setSurface: (to: string) =>
      set({ surface: to === "chat" ? null : to, model: null, voice: null, format: null, size: null }, "push"),
    /** Replaces all settings by those of a stored prompt. */
    restore: (stored: {
      readonly surface: Surface;
      readonly models: readonly string[];
      readonly stream: boolean;
      readonly parameters: Parameters;
    }) =>
      set(
        {
          ...stored.parameters,
          surface: stored.surface === "chat" ? null : stored.surface,
          model: stored.models.join(","),
          stream: stored.stream ? null : "0",
        },
        "push",
      ),
  };
}
