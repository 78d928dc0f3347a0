import { baseUrl } from "../../base-url.ts";
import { CodeTabs } from "../../ui/code-block.tsx";
import { Card } from "../../ui/layout.tsx";
import { codeOf } from "../playground/code-samples.ts";
import { type Draft, EMPTY_CONTENT, NO_PARAMETERS, pathOf, SURFACES, type Surface } from "../playground/draft.ts";
import type { PublicModelDetail } from "./catalogue.ts";

const PROMPTS: Readonly<Partial<Record<Surface, string>>> = {
  embeddings: "The quick brown fox",
  images: "A siamese cat",
  moderations: "I will hurt you.",
  rerank: "The quick brown fox\nA slow green turtle",
  speech: "Hello from the gateway.",
  transcriptions: "",
};

function draftFor(model: string, surface: Surface): Draft {
  const prompt = PROMPTS[surface] ?? "Say hello in French.";
  const instructions = surface === "rerank" ? "Which animal is fast?" : "";
  return { ...NO_PARAMETERS, ...EMPTY_CONTENT, instructions, surface, model, prompt, stream: false, turns: [] };
}

/** A first request to the model on its surface, against this gateway. */
export function ModelCode({ model }: { readonly model: PublicModelDetail }) {
  const surface = SURFACES.find(({ id }) => model.surfaces.some((one) => one === id))?.id ?? "chat";
  const code = codeOf(draftFor(model.id, surface), baseUrl().replace(/\/v1$/, ""), "audio.mp3");
  if (code === undefined) return null;
  const snippets = [
    { id: "curl", label: "curl", code: code.curl },
    { id: "python", label: "Python", code: code.python },
    { id: "typescript", label: "TypeScript", code: code.typescript },
  ];
  return (
    <Card
      title="Code"
      about={
        <>
          <code className="font-mono">POST {pathOf(surface)}</code>. Set <code className="font-mono">GATEWAY_KEY</code>{" "}
          to an API key.
        </>
      }
    >
      <CodeTabs snippets={snippets} label="Code" />
    </Card>
  );
}
