import type { Client } from "./client-kind.ts";

export const APPS: readonly Client[] = [
  {
    id: "librechat",
    title: "LibreChat",
    kind: "Applications",
    about: "Self-hosted chat application.",
    apis: "chat completions",
    base: "with /v1",
    app: null,
    steps: ({ origin, model, key }) => [
      { title: "Set the key in the environment", file: ".env", code: `GATEWAY_KEY=${key}` },
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
      { title: "Restart LibreChat", code: "docker compose restart api" },
    ],
    pitfalls: [
      "baseURL ends with /v1, not with /chat/completions.",
      "fetch: true loads the models the key can use. Without default, the list is empty until then.",
      "titleModel must be a model the key can use: each conversation title is a separate request.",
      "In a container, localhost is the container itself. Use the gateway’s host name or IP address, and allow private addresses in LibreChat’s configuration.",
    ],
  },
  {
    id: "n8n",
    title: "n8n",
    kind: "Applications",
    about: "Workflow automation with models.",
    apis: "chat completions, responses",
    base: "with /v1",
    app: null,
    steps: ({ origin, model, key }) => [
      {
        title: "Create a credential",
        description:
          "Under Credentials > New > OpenAI, fill in these two fields and save. n8n tests the credential by listing the models.",
        file: "Base URL",
        code: `${origin}/v1`,
      },
      { title: "Enter the key", file: "API Key", code: key },
      {
        title: "Use it in an OpenAI Chat Model node",
        description: "Select the model by ID.",
        file: "Model, by ID",
        code: model,
      },
    ],
    pitfalls: [
      "Set the base URL in the credential, not in the node.",
      "The newer OpenAI node uses the Responses API; the Chat Model node uses chat completions by default. Both work.",
      "In a container, localhost is the container itself. Use the gateway’s host name or IP address.",
    ],
  },
];
