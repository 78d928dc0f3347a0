import { useCallback, useMemo, useSyncExternalStore } from "react";
import { useMe } from "../../api/me.ts";
import { type Content, EMPTY_CONTENT, type Parameters, parametersFrom, SURFACES, type Surface } from "./draft.ts";

/** Content that is stored: text only, without attachments. */
export type StoredContent = Omit<Content, "attachments">;

/** A prompt with its models and parameters. Keys, attachments and responses are never stored. */
export type StoredPrompt = {
  readonly id: string;
  readonly atMs: number;
  /** Empty in the history. */
  readonly name: string;
  readonly surface: Surface;
  readonly models: readonly string[];
  readonly stream: boolean;
  readonly parameters: Parameters;
  readonly content: StoredContent;
};
export type NewPrompt = Omit<StoredPrompt, "id" | "atMs">;

export type PromptLibrary = {
  readonly isRecording: boolean;
  /** Newest first, as is the history. */
  readonly saved: readonly StoredPrompt[];
  readonly history: readonly StoredPrompt[];
};

export const HISTORY_MAX = 50;
export const SAVED_MAX = 50;
/** Two full lists stay below the 5 MB that browsers grant to an origin. */
export const PROMPT_CHARACTERS_MAX = 20_000;

export const EMPTY_LIBRARY: PromptLibrary = { isRecording: true, saved: [], history: [] };

/** Adds a sent prompt; the same prompt sent again moves to the top. */
export function addToHistory(library: PromptLibrary, prompt: StoredPrompt): PromptLibrary {
  if (!library.isRecording || isTooLong(prompt)) return library;
  const others = library.history.filter((one) => fingerprint(one) !== fingerprint(prompt));
  return { ...library, history: [prompt, ...others].slice(0, HISTORY_MAX) };
}

/** Saves under a name; the same name is replaced. Returns the reason if it can't be saved. */
export function savePrompt(library: PromptLibrary, prompt: StoredPrompt): PromptLibrary | string {
  if (isTooLong(prompt))
    return `Prompts above ${PROMPT_CHARACTERS_MAX.toLocaleString("en")} characters can't be saved.`;
  const others = library.saved.filter(({ name }) => name !== prompt.name);
  if (others.length >= SAVED_MAX) return `${SAVED_MAX} prompts are saved. Delete one first.`;
  return { ...library, saved: [prompt, ...others] };
}

export function removePrompt(library: PromptLibrary, id: string): PromptLibrary {
  const keep = (one: StoredPrompt) => one.id !== id;
  return { ...library, saved: library.saved.filter(keep), history: library.history.filter(keep) };
}

function isTooLong(prompt: StoredPrompt): boolean {
  return JSON.stringify(prompt).length > PROMPT_CHARACTERS_MAX;
}

function fingerprint({ surface, models, stream, parameters, content }: StoredPrompt): string {
  return JSON.stringify([surface, models, stream, parameters, content]);
}

/** Ignores what a browser extension or an older version has stored. */
export function readLibrary(text: string | null): PromptLibrary {
  const stored = parse(text);
  return {
    isRecording: member(stored, "isRecording") !== false,
    saved: promptsIn(member(stored, "saved")).slice(0, SAVED_MAX),
    history: promptsIn(member(stored, "history")).slice(0, HISTORY_MAX),
  };
}

function parse(text: string | null): unknown {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return null;
  }
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

function promptsIn(list: unknown): readonly StoredPrompt[] {
  return Array.isArray(list) ? list.flatMap((entry) => promptFrom(entry) ?? []) : [];
}

function promptFrom(entry: unknown): StoredPrompt | undefined {
  const text = (of: unknown, name: string, otherwise = "") => {
    const value = member(of, name);
    return typeof value === "string" ? value : otherwise;
  };
  const surface = SURFACES.find(({ id }) => id === member(entry, "surface"))?.id;
  const [id, atMs, models] = [text(entry, "id"), member(entry, "atMs"), member(entry, "models")];
  if (surface === undefined || id === "" || typeof atMs !== "number" || !Array.isArray(models)) return undefined;
  const content = member(entry, "content");
  return {
    id,
    atMs,
    name: text(entry, "name"),
    surface,
    models: models.filter((model) => typeof model === "string"),
    stream: member(entry, "stream") !== false,
    parameters: parametersFrom((name) => text(member(entry, "parameters"), name)),
    content: {
      system: text(content, "system"),
      prompt: text(content, "prompt"),
      tools: text(content, "tools"),
      schema: text(content, "schema"),
      instructions: text(content, "instructions"),
      state: text(content, "state", EMPTY_CONTENT.state),
      questions: text(content, "questions", EMPTY_CONTENT.questions),
    },
  };
}

/** Not `crypto.randomUUID`, which browsers lack on plain HTTP. */
function withId(prompt: NewPrompt): StoredPrompt {
  const atMs = Date.now();
  return { ...prompt, id: `${atMs}-${Math.random().toString(36).slice(2)}`, atMs };
}

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  // Fires for changes of other tabs only.
  addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    removeEventListener("storage", listener);
  };
}

/** Prompts in the local storage of this browser, per person and workspace. */
export function usePromptLibrary(workspace: string) {
  const person = useMe().data?.id ?? "";
  const key = `playground:${person}:${workspace}`;
  const stored = useSyncExternalStore(subscribe, () => localStorage.getItem(key));
  const library = useMemo(() => readLibrary(stored), [stored]);

  /** Returns the reason if it can't be stored. */
  const update = useCallback(
    (change: (library: PromptLibrary) => PromptLibrary | string): string | undefined => {
      const next = change(readLibrary(localStorage.getItem(key)));
      if (typeof next === "string") return next;
      try {
        localStorage.setItem(key, JSON.stringify(next));
      } catch {
        return "The browser's storage is full or disabled.";
      }
      for (const listener of listeners) listener();
      return undefined;
    },
    [key],
  );
  return {
    library,
    record: (prompt: NewPrompt) => void update((before) => addToHistory(before, withId(prompt))),
    save: (prompt: NewPrompt) => update((before) => savePrompt(before, withId(prompt))),
    remove: (id: string) => void update((before) => removePrompt(before, id)),
    clearHistory: () => void update((before) => ({ ...before, history: [] })),
    setRecording: (isRecording: boolean) => void update((before) => ({ ...before, isRecording })),
  };
}
