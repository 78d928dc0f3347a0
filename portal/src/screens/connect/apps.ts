import type { Client } from "./client-kind.ts";

export const APPS: readonly Client[] = [
  {
    id: "librechat",
    title: "LibreChat",
    kind: "Applications",
    about: "A chat application of your own.",
    speaks: "chat completions",
    base: "with /v1",
    app: null,
    steps: ({ origin, model, key }) => [
      { title: "The key, in its environment", file: ".env", code: `GATEWAY_KEY=${key}` },
      {
        title: "Add the gateway as an endpoint",
        file: "librechat.yaml",
        code: `version: 1.2.1
endpoints:
  custom:
    - name: Gateway
      apiKey: \${GATEWAY_KEY}
      baseURL: ${origin}/v1
      models:
        default: ["${model}"]
        fetch: true
      titleConvo: true
      titleModel: ${model}
      modelDisplayLabel: Gateway`,
      },
      { title: "Start it again", code: "docker compose restart api" },
    ],
    traps: [
      "baseURL ends with /v1 and not with /chat/completions.",
      "fetch: true reads the list of models the key may use; without default the list is empty until then.",
      "titleModel must be a model the key may use: the title of every conversation is a request of its own.",
      "In a container, localhost is the container: use the name or address of the gateway’s machine, and allow private addresses in LibreChat’s configuration.",
    ],
  },
  {
    id: "n8n",
    title: "n8n",
    kind: "Applications",
    about: "Workflows with models in them.",
    speaks: "chat completions, responses",
    base: "with /v1",
    app: null,
    steps: ({ origin, model, key }) => [
      {
        title: "Make a credential",
        says: "Credentials, New, OpenAI. Fill in these two fields and save: n8n tests it by reading the list of models.",
        file: "Base URL",
        code: `${origin}/v1`,
      },
      { title: "The key", file: "API Key", code: key },
      {
        title: "Use it in an OpenAI Chat Model node",
        says: "Choose the model by its id.",
        file: "Model, by ID",
        code: model,
      },
    ],
    traps: [
      "The base address belongs in the credential, not in the node.",
      "The newer OpenAI node speaks responses, the Chat Model node chat completions unless its switch is set. Both work.",
      "In a container, localhost is the container: use the name or address of the gateway’s machine.",
    ],
  },
];
