import { describe, expect, test } from "vitest";
import { EMPTY_CONTENT, NO_PARAMETERS } from "./draft.ts";
import {
  addToHistory,
  EMPTY_LIBRARY,
  HISTORY_MAX,
  PROMPT_CHARACTERS_MAX,
  type PromptLibrary,
  readLibrary,
  removePrompt,
  SAVED_MAX,
  type StoredPrompt,
  savePrompt,
} from "./prompt-library.ts";

const { attachments: _, ...TEXT } = EMPTY_CONTENT;

function promptOf(id: string, prompt: string, name = ""): StoredPrompt {
  const settings = { surface: "chat", models: ["a/b", "c/d"], stream: true, parameters: NO_PARAMETERS } as const;
  return { ...settings, id, atMs: 1, name, content: { ...TEXT, prompt } };
}

function saved(library: PromptLibrary, prompt: StoredPrompt): PromptLibrary {
  const next = savePrompt(library, prompt);
  if (typeof next === "string") throw new Error(next);
  return next;
}

describe("PORTAL-22 prompts in the browser", () => {
  test("the history is bounded, newest first; a prompt sent again moves to the top", () => {
    let library = EMPTY_LIBRARY;
    for (let index = 0; index < HISTORY_MAX + 5; index += 1)
      library = addToHistory(library, promptOf(String(index), `prompt ${index}`));
    expect(library.history).toHaveLength(HISTORY_MAX);
    library = addToHistory(library, promptOf("again", "prompt 20"));
    expect(library.history).toHaveLength(HISTORY_MAX);
    expect(library.history.filter(({ content }) => content.prompt === "prompt 20").map(({ id }) => id)).toEqual([
      "again",
    ]);
    expect(library.history[0]?.id).toBe("again");
  });

  test("nothing is recorded while the history is off, nor a prompt that is too long", () => {
    expect(addToHistory({ ...EMPTY_LIBRARY, isRecording: false }, promptOf("1", "x")).history).toEqual([]);
    const long = promptOf("1", "x".repeat(PROMPT_CHARACTERS_MAX), "long");
    expect(addToHistory(EMPTY_LIBRARY, long).history).toEqual([]);
    expect(savePrompt(EMPTY_LIBRARY, long)).toContain("20,000 characters");
  });

  test("a name is saved once, and no more prompts than the limit", () => {
    let library = saved(saved(EMPTY_LIBRARY, promptOf("1", "one", "n")), promptOf("2", "two", "n"));
    expect(library.saved.map(({ id }) => id)).toEqual(["2"]);
    for (let index = 1; index < SAVED_MAX; index += 1)
      library = saved(library, promptOf(`s${index}`, "x", `n${index}`));
    expect(savePrompt(library, promptOf("more", "x", "more"))).toContain("Delete one first");
    expect(removePrompt(library, "2").saved).toHaveLength(SAVED_MAX - 1);
  });

  test("what was stored is read back; damaged entries are ignored", () => {
    const library = saved(addToHistory(EMPTY_LIBRARY, promptOf("1", "x")), promptOf("2", "y", "name"));
    expect(readLibrary(JSON.stringify(library))).toEqual(library);
    const damaged = { saved: [null, 3, { id: "x", surface: "none" }, library.saved[0]], history: "no" };
    expect(readLibrary(JSON.stringify(damaged))).toEqual({ isRecording: true, saved: library.saved, history: [] });
    for (const text of [null, "", "{", "[]", "3"]) expect(readLibrary(text)).toEqual(EMPTY_LIBRARY);
  });
});
