import { z } from "zod";
import { Time } from "./manage-values.ts";

const MAPPED_MAX = 200;

const Name = z
  .string()
  .regex(
    /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/,
    "write 1 to 40 lower-case letters, digits and hyphens, with a letter or digit at both ends",
  )
  .meta({ description: "A part of the ids of its models; it stays.", example: "rack" });

const CountryCode = z
  .string()
  .regex(/^[A-Za-z]{2}$/, "write a two-letter ISO 3166-1 country code such as DE")
  .nullish()
  .meta({
    description:
      "Where the machine stands, as you declare it (ISO 3166-1 alpha-2). Null: not declared; the node is then kept out wherever a policy names countries.",
    example: "DE",
  });

const LocalId = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[\x21-\x7e]+$/, "write the model's id as the local server lists it");

const Mapping = z
  .record(LocalId, z.string().min(1).max(200))
  .refine((mapping) => Object.keys(mapping).length <= MAPPED_MAX, `map at most ${MAPPED_MAX} models`)
  .meta({
    description: "Models of the node that also stand behind a catalogue model: local id to catalogue id.",
    example: { "llama3:8b": "meta/llama-3-8b-instruct" },
  });

export const NodeCreate = z
  .strictObject({ name: Name, country: CountryCode, mapping: Mapping.nullish() })
  .meta({ id: "NodeCreate" });

export const NodePatch = z
  .strictObject({
    country: CountryCode,
    mapping: Mapping.nullable().optional().meta({ description: "Replaces the whole mapping; null clears it." }),
  })
  .meta({ id: "NodeChange", description: "What is not named stays as it is." });

const State = z.enum(["connected", "set_aside", "offline"]).meta({
  description: "`set_aside`: connected, and not asked for a while, because what it answered was wrong.",
});

const NodeErrorView = z.object({ at: Time, message: z.string() });

export const NodeRow = z
  .object({
    id: z.string(),
    name: z.string(),
    country: z.string().nullable().meta({ description: "Null: not declared." }),
    state: State,
    created_at: Time,
    created_by: z.string(),
    last_seen_at: Time.nullable().meta({ description: "Null: it never connected." }),
    connected_at: Time.nullable().meta({ description: "Null: it is not connected." }),
    instance: z.string().nullable().meta({
      description:
        "The instance of the gateway that holds its connection. Requests that reach another one go through it.",
    }),
    address: z.string().nullable().meta({ description: "Where it connects from." }),
    agent: z.string().nullable().meta({ description: "Version of the agent." }),
    server: z.string().nullable().meta({ description: "What the local server calls itself." }),
    models: z.array(z.string()).meta({ description: "Ids of its models, as the local server lists them." }),
    running: z.int().meta({ description: "Requests it serves now." }),
    capacity: z.int().nullable().meta({ description: "Requests it takes at once." }),
    latency_ms: z.number().nullable().meta({ description: "Time of the last round trip through the tunnel." }),
    set_aside: z.object({ until: Time, reason: z.string() }).nullable(),
    last_error: NodeErrorView.nullable(),
  })
  .meta({ id: "Node", description: "A machine of the workspace's own, and how it is now; never its token." });

const Served = z.object({
  id: z.string().meta({ description: "As the local server lists it." }),
  model: z.string().meta({ description: "The id it is called by." }),
  mapped_to: z.string().nullable().meta({ description: "The catalogue model it also stands behind." }),
  surfaces: z.array(z.enum(["chat", "embeddings"])),
  context_tokens: z.int().nullable(),
  max_output_tokens: z.int().nullable(),
  tools: z.boolean().nullable(),
  image_input: z.boolean().nullable(),
  reasoning: z.boolean().nullable(),
});

export const NodeView = NodeRow.extend({
  mapping: z.record(z.string(), z.string()),
  served: z.array(Served).meta({ description: "Its models in detail, while it is connected." }),
}).meta({ id: "NodeDetail", description: "A node with its models." });

export const NodeIssued = NodeView.extend({
  token: z.string().meta({ description: "What it connects with. Shown in this answer and never again." }),
}).meta({ id: "NodeIssued", description: "A node with its new token, which is shown once." });

export const NodeRemoved = z.object({ id: z.string(), name: z.string(), removed: z.literal(true) }).meta({
  id: "NodeRemoved",
});

const row = {
  id: "node_019a8c5e7d7a7c2b8f2e5a1b3c4d5e6f",
  name: "rack",
  country: "DE",
  state: "connected" as const,
  created_at: "2026-11-15T09:30:00.000Z",
  created_by: "ada@example.eu",
  last_seen_at: "2026-11-15T10:00:00.000Z",
  connected_at: "2026-11-15T09:31:00.000Z",
  instance: "ins_Wm9vbS1hLWJpdA",
  address: "203.0.113.7",
  agent: "0.1.0",
  server: "vLLM",
  models: ["llama3:8b"],
  running: 1,
  capacity: 8,
  latency_ms: 14,
  set_aside: null,
  last_error: null,
};

const view = {
  ...row,
  mapping: { "llama3:8b": "meta/llama-3-8b-instruct" },
  served: [
    {
      id: "llama3:8b",
      model: "node/rack/llama3:8b",
      mapped_to: "meta/llama-3-8b-instruct",
      surfaces: ["chat" as const],
      context_tokens: 8192,
      max_output_tokens: null,
      tools: true,
      image_input: null,
      reasoning: null,
    },
  ],
};

export const nodeExamples = { row, view };
