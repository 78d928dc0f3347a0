import { useState } from "react";
import { useWorkspace } from "../../url-state.ts";
import { fetchVoices, useModelOptions } from "./callable-models.ts";
import { type Content, type Draft, EMPTY_CONTENT, isChat, type Turn } from "./draft.ts";
import { usePlaygroundKey } from "./playground-key.ts";
import { type NewPrompt, type StoredPrompt, usePromptLibrary } from "./prompt-library.ts";
import { composeRequest } from "./request.ts";
import { useRuns } from "./run.ts";
import { useSettings } from "./settings.ts";

/** An invalid field and its error message. */
export type Problem = { readonly at: string; readonly message: string };
export type Playground = ReturnType<typeof usePlayground>;

/** One conversation and one run per compared model. */
function useColumns(keys: ReturnType<typeof usePlaygroundKey>) {
  const { runs, start, stop, reset, remove } = useRuns(keys);
  const [conversations, setConversations] = useState<readonly (readonly Turn[])[]>([]);
  const [voices, setVoices] = useState<readonly string[]>([]);

  /** Speech needs a voice; defaults to the model's first one. */
  const resolveVoice = async ({ surface, model, voice }: Draft): Promise<string> => {
    if (surface !== "speech" || voice !== "") return voice;
    const available = await keys.get().then(
      (key) => fetchVoices(key, model),
      () => [],
    );
    setVoices(available);
    return available[0] ?? "";
  };
  return {
    runs,
    conversations,
    voices,
    stop,
    isRunning: runs.some(({ state }) => state === "running"),
    /** Returns whether the exchange became part of the column's conversation. */
    send: async (column: number, draft: Draft, file: File | null): Promise<boolean> => {
      const voice = await resolveVoice(draft);
      const { state, error, reply } = await start(column, { ...draft, voice }, file);
      if (!isChat(draft.surface) || state !== "done" || error !== null || reply.text === "") return false;
      const exchange: readonly Turn[] = [
        { role: "user", text: draft.prompt },
        { role: "assistant", text: reply.text },
      ];
      setConversations((before) => withItem(before, column, [...draft.turns, ...exchange]));
      return true;
    },
    remove: (column: number) => {
      remove(column);
      setConversations((before) => before.toSpliced(column, 1));
    },
    clear: () => {
      reset();
      setConversations([]);
    },
  };
}

/** The state of the screen: URL settings, content, stored prompts, key and columns. */
export function usePlayground() {
  const { workspace, at } = useWorkspace();
  const url = useSettings();
  const { settings } = url;
  const { options, isPending } = useModelOptions(workspace, settings.surface);
  const keys = usePlaygroundKey(workspace, url.environment);
  const columns = useColumns(keys);
  const prompts = usePromptLibrary(workspace);
  const [content, setContent] = useState<Content>(EMPTY_CONTENT);
  const [problem, setProblem] = useState<Problem>();
  const [file, setFile] = useState<File | null>(null);

  const models = url.models.length > 0 ? url.models : [options.find(isCallable)?.value ?? ""];
  const draftFor = (model: string, column: number): Draft => ({
    ...settings,
    ...content,
    model,
    turns: columns.conversations[column] ?? [],
  });
  const drafts = models.map(draftFor);
  const isUnavailable = (id: string) => options.some(({ value, model }) => value === id && model?.available === false);
  // A pasted key may belong to another workspace.
  const unavailable = keys.pasted === "" ? [...new Set(models.filter(isUnavailable))] : [];
  const { attachments: _, ...text } = content;
  const prompt: Omit<NewPrompt, "name"> = {
    surface: settings.surface,
    models,
    stream: settings.stream,
    parameters: url.parameters,
    content: text,
  };
  const restart = () => {
    columns.clear();
    setProblem(undefined);
  };
  const send = async () => {
    if (columns.isRunning || unavailable.length > 0) return;
    const found = problemOf(drafts, file);
    setProblem(found);
    if (found !== undefined) return;
    prompts.record({ ...prompt, name: "" });
    const answered = await Promise.all(drafts.map((draft, column) => columns.send(column, draft, file)));
    // The prompt moved into the conversation, unless it was edited while the response streamed.
    if (answered.some(Boolean))
      setContent((before) => (before.prompt === content.prompt ? { ...before, prompt: "", attachments: [] } : before));
  };
  return {
    ...{ workspace, at, url, models, options, isPending, unavailable, keys, columns, prompts, prompt, problem },
    ...{ drafts, draft: draftFor(models[0] ?? "", 0), file, setFile, restart, send },
    write: (change: Partial<Content>) => setContent((before) => ({ ...before, ...change })),
    retry: (column: number) => {
      const sent = columns.runs[column]?.sent;
      if (sent != null) void columns.send(column, sent, file);
    },
    changeModel: (column: number, model: string) => url.setModels(models.with(column, model)),
    addModel: () => {
      const next = options.find((option) => isCallable(option) && !models.includes(option.value));
      url.setModels([...models, next?.value ?? "auto"]);
    },
    removeModel: (column: number) => {
      columns.remove(column);
      url.setModels(models.toSpliced(column, 1));
    },
    /** Tools and schemas have the format of their surface. */
    switchSurface: (surface: string) => {
      restart();
      setContent((before) => ({ ...before, tools: "", schema: "" }));
      url.setSurface(surface);
    },
    restore: (stored: StoredPrompt) => {
      restart();
      setContent({ ...stored.content, attachments: [] });
      url.restore(stored);
    },
  };
}

function isCallable({ model }: { readonly model?: { readonly available?: boolean | undefined } | undefined }): boolean {
  return model !== undefined && model.available !== false;
}

function problemOf(drafts: readonly Draft[], file: File | null): Problem | undefined {
  for (const draft of drafts) {
    const composed = composeRequest(draft);
    if (composed.kind === "problem") return composed;
    if (composed.kind === "form" && file === null) return { at: "file", message: "Select an audio file." };
  }
  return undefined;
}

function withItem<T>(list: readonly (readonly T[])[], index: number, item: readonly T[]): readonly (readonly T[])[] {
  const next = [...list];
  while (next.length <= index) next.push([]);
  next[index] = item;
  return next;
}
