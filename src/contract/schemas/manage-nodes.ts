import { z } from "zod";
import { Label, Time } from "./manage-values.ts";

const MAPPED_MAX = 200;

const Name = z
  .string()
  .regex(
    /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/,
    "must be 1 to 40 lowercase letters, digits and hyphens, and begin and end with a letter or digit",
  )
  .meta({ description: "Part of the ids of its models; cannot be changed.", example: "rack" });

const CountryCode = z
  .string()
  .regex(/^[A-Za-z]{2}$/, "must be a two-letter ISO 3166-1 country code such as DE")
  .nullish()
  .meta({
    description:
      "Declared location of the machine (ISO 3166-1 alpha-2). It decides the level: in the EEA L1, elsewhere L0. Null: not declared; the node is then unclassified, and a floor or allowed countries exclude it. Another country ends an attestation.",
    example: "DE",
  });

const LocalId = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[\x21-\x7e]+$/, "must be the model id as listed by the local server");

const Mapping = z
  .record(LocalId, z.string().min(1).max(200))
  .refine((mapping) => Object.keys(mapping).length <= MAPPED_MAX, `must have at most ${MAPPED_MAX} models`)
  .meta({
    description: "Local models that also serve a catalogue model: local id to catalogue id.",
    example: { "llama3:8b": "meta/llama-3-8b-instruct" },
  });

const SurfaceName = z.enum(["chat", "embeddings", "rerank", "images"]);

const Surfaces = z
  .record(LocalId, z.array(SurfaceName).min(1, "must have a surface").max(SurfaceName.options.length))
  .refine((surfaces) => Object.keys(surfaces).length <= MAPPED_MAX, `must have at most ${MAPPED_MAX} models`)
  .meta({
    description: "Surfaces of local models, which replace those that the agent finds: local id to surfaces.",
    example: { "bge-m3": ["embeddings"] },
  });

export const NodeCreate = z
  .strictObject({ name: Name, country: CountryCode, mapping: Mapping.nullish(), surfaces: Surfaces.nullish() })
  .meta({ id: "NodeCreate" });

export const NodePatch = z
  .strictObject({
    country: CountryCode,
    mapping: Mapping.nullable().optional().meta({ description: "Replaces the whole mapping; null clears it." }),
    surfaces: Surfaces.nullable()
      .optional()
      .meta({ description: "Replaces all surfaces that are set; null: as the agent finds them." }),
  })
  .meta({ id: "NodeChange", description: "Omitted fields stay unchanged." });

const AttestedLevel = z.enum(["L2", "L3", "L4"]);

export const NodeAttest = z
  .strictObject({
    level: AttestedLevel.meta({ description: "The level that the machine meets, above the level of its country." }),
    name: Label(100).meta({ description: "The person who vouches for it.", example: "Ada Moreau" }),
    reason: Label(1000).meta({
      description: "Why the machine meets the level.",
      example: "Own hardware in our own building in Paris, operated by our own staff.",
    }),
  })
  .meta({ id: "NodeAttest" });

export const AttestationView = z
  .object({
    level: AttestedLevel,
    name: z.string().meta({ description: "The person who vouches for it." }),
    reason: z.string(),
    at: Time.meta({ description: "When it was recorded." }),
    recorded_by: z.string().meta({ description: "The account that recorded it." }),
    ended_at: Time.nullable().meta({ description: "Null: in force." }),
  })
  .meta({ id: "NodeAttestation", description: "An admin's statement that a node meets a sovereignty level." });

const State = z.enum(["connected", "set_aside", "offline"]).meta({
  description: "`set_aside`: connected, but its circuit is open after implausible responses.",
});

const NodeErrorView = z.object({ at: Time, message: z.string() });

export const NodeRow = z
  .object({
    id: z.string(),
    name: z.string(),
    country: z.string().nullable().meta({ description: "Null: not declared." }),
    level: z.enum(["UNCLASSIFIED", "L0", "L1", "L2", "L3", "L4"]).meta({
      description:
        "Sovereignty level: without a country unclassified, outside the EEA L0, inside it L1, higher by attestation.",
    }),
    level_reason: z.string(),
    attestation: AttestationView.nullable().meta({ description: "The attestation in force; null: none." }),
    state: State,
    created_at: Time,
    created_by: z.string(),
    last_seen_at: Time.nullable().meta({ description: "Null: it has never connected." }),
    connected_at: Time.nullable().meta({ description: "Null: it is not connected." }),
    instance: z.string().nullable().meta({
      description: "The gateway instance that holds the connection. Other instances forward requests to it.",
    }),
    address: z.string().nullable().meta({ description: "IP address of the node." }),
    agent: z.string().nullable().meta({ description: "Version of the node agent." }),
    agent_update: z.string().nullable().meta({
      description:
        "The version to install when the agent's differs from the gateway's: `GET /node/agent.mjs` serves it. Null: no difference, or not connected.",
    }),
    server: z.string().nullable().meta({ description: "Name of the local server." }),
    models: z.array(z.string()).meta({ description: "Model ids as listed by the local server." }),
    running: z.int().meta({ description: "Requests in progress." }),
    capacity: z.int().nullable().meta({ description: "Maximum concurrent requests." }),
    latency_ms: z.number().nullable().meta({ description: "Latest round-trip time through the tunnel." }),
    set_aside: z.object({ until: Time, reason: z.string() }).nullable(),
    last_error: NodeErrorView.nullable(),
  })
  .meta({ id: "Node", description: "A machine of the workspace and its current state, without its token." });

const Served = z.object({
  id: z.string().meta({ description: "Model id as listed by the local server." }),
  model: z.string().meta({ description: "Model id for callers." }),
  mapped_to: z.string().nullable().meta({ description: "The catalogue model it also serves." }),
  surfaces: z.array(SurfaceName).meta({ description: "Surfaces in effect." }),
  announced_surfaces: z.array(SurfaceName).meta({ description: "Surfaces that the agent found." }),
  context_tokens: z.int().nullable(),
  max_output_tokens: z.int().nullable(),
  tools: z.boolean().nullable(),
  image_input: z.boolean().nullable(),
  reasoning: z.boolean().nullable(),
});

export const NodeView = NodeRow.extend({
  mapping: z.record(z.string(), z.string()),
  surfaces: z.record(z.string(), z.array(SurfaceName)).meta({ description: "Surfaces that are set, by local id." }),
  attestations: z.array(AttestationView).meta({ description: "The last 50, oldest first." }),
  served: z.array(Served).meta({ description: "Model details, while the node is connected." }),
}).meta({ id: "NodeDetail", description: "A node with its models." });

export const NodeIssued = NodeView.extend({
  token: z.string().meta({ description: "Token for the node agent. Returned only in this response." }),
}).meta({ id: "NodeIssued", description: "A node with its new token, which is shown only once." });

export const NodeRemoved = z.object({ id: z.string(), name: z.string(), removed: z.literal(true) }).meta({
  id: "NodeRemoved",
});

const attestation = {
  level: "L3" as const,
  name: "Ada Moreau",
  reason: "Own hardware in our own building in Paris, operated by our own staff.",
  at: "2026-11-15T09:40:00.000Z",
  recorded_by: "ada@example.eu",
  ended_at: null,
};

const row = {
  id: "node_019a8c5e7d7a7c2b8f2e5a1b3c4d5e6f",
  name: "rack",
  country: "FR",
  level: "L3" as const,
  level_reason: `attested by ${attestation.name} on 2026-11-15: ${attestation.reason}`,
  attestation,
  state: "connected" as const,
  created_at: "2026-11-15T09:30:00.000Z",
  created_by: "ada@example.eu",
  last_seen_at: "2026-11-15T10:00:00.000Z",
  connected_at: "2026-11-15T09:31:00.000Z",
  instance: "ins_Wm9vbS1hLWJpdA",
  address: "203.0.113.7",
  agent: "0.1.0",
  agent_update: null,
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
  surfaces: {},
  attestations: [attestation],
  served: [
    {
      id: "llama3:8b",
      model: "node/rack/llama3:8b",
      mapped_to: "meta/llama-3-8b-instruct",
      surfaces: ["chat" as const],
      announced_surfaces: ["chat" as const],
      context_tokens: 8192,
      max_output_tokens: null,
      tools: true,
      image_input: null,
      reasoning: null,
    },
  ],
};

export const nodeExamples = { row, view, attestation };
