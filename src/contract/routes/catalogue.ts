import type { z } from "zod";
import type { FaultCode } from "../faults.ts";
import type { Route } from "../route.ts";
import * as shapes from "../schemas/catalogue.ts";
import * as examples from "../schemas/catalogue-examples.ts";
import { ModelList, ModelListQuery, ModelObject } from "../schemas/models.ts";

type CatalogueRouteSpec = {
  readonly id: string;
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  readonly query?: z.ZodObject;
  readonly answer: z.ZodType;
  readonly example: unknown;
};

/** What all public routes share: no key, nothing taken in, nothing counted. */
function open({ answer, example, ...spec }: CatalogueRouteSpec): Route {
  return {
    ...spec,
    method: "GET",
    access: { by: "anyone" },
    intake: "none",
    counted: false,
    tag: "Catalogue",
    answer: { is: "json", status: 200, schema: answer, tagged: true },
    faults: [],
    example: { answer: example },
  };
}

const page = (item: unknown) => ({ data: [item], next: null });

const FILTERING =
  "Filters on provider, level, country and surface pick endpoints: a model is listed when one endpoint satisfies all of them together, and only those endpoints are shown.";

const publicRoutes: readonly Route[] = [
  open({
    id: "listPublicModels",
    path: "/v1/public/models",
    summary: "Browse the model catalogue",
    description: `Every model of the catalogue with its endpoints, whether or not this deployment can call them. ${FILTERING}`,
    query: shapes.ModelsQuery,
    answer: shapes.pageOf(shapes.PublicModel),
    example: page(examples.model),
  }),
  open({
    id: "getPublicModel",
    path: "/v1/public/models/{slug+}",
    summary: "One catalogue model",
    query: shapes.CurrencyQuery,
    answer: shapes.PublicModel,
    example: examples.model,
  }),
  open({
    id: "listPublicFamilies",
    path: "/v1/public/families",
    summary: "List model families",
    description: "A family is listed when one of its models passes the filters; `q` looks at its own slug and name.",
    query: shapes.NamedQuery,
    answer: shapes.pageOf(shapes.PublicFamily),
    example: page(examples.family),
  }),
  open({
    id: "getPublicFamily",
    path: "/v1/public/families/{slug}",
    summary: "One family",
    query: shapes.NoQuery,
    answer: shapes.PublicFamily,
    example: examples.family,
  }),
  open({
    id: "listPublicFamilyModels",
    path: "/v1/public/families/{slug}/models",
    summary: "Models in a family",
    description: FILTERING,
    query: shapes.ModelsQuery,
    answer: shapes.pageOf(shapes.PublicModel),
    example: page(examples.model),
  }),
  open({
    id: "listPublicModelCreators",
    path: "/v1/public/model-creators",
    summary: "List model creators",
    description: "A creator is listed when one of its models passes the filters; `q` looks at its own slug and name.",
    query: shapes.NamedQuery,
    answer: shapes.pageOf(shapes.PublicCreator),
    example: page(examples.creator),
  }),
  open({
    id: "getPublicModelCreator",
    path: "/v1/public/model-creators/{slug}",
    summary: "One creator",
    query: shapes.NoQuery,
    answer: shapes.PublicCreator,
    example: examples.creator,
  }),
  open({
    id: "listPublicProviders",
    path: "/v1/public/providers",
    summary: "List inference providers",
    description:
      "Who runs them, where, under which law, and the evidence for it. A provider is listed when one of its endpoints passes the filters; `q` looks at its own slug and name.",
    query: shapes.NamedQuery,
    answer: shapes.pageOf(shapes.PublicProvider),
    example: page(examples.provider),
  }),
  open({
    id: "getPublicProvider",
    path: "/v1/public/providers/{slug}",
    summary: "One provider",
    description: "With all its endpoints: level, countries, retention, training, price and evidence of each.",
    query: shapes.CurrencyQuery,
    answer: shapes.PublicProviderDetail,
    example: { ...examples.provider, endpoints: [examples.endpoint] },
  }),
  open({
    id: "listPublicCurrencies",
    path: "/v1/public/currencies",
    summary: "Currencies catalogue prices can be shown in",
    query: shapes.PlainQuery,
    answer: shapes.pageOf(shapes.PublicCurrency),
    example: page(examples.currency),
  }),
  open({
    id: "listPublicSovereigntyLevels",
    path: "/v1/public/sovereignty",
    summary: "Sovereignty levels",
    description: "The five rungs, lowest first, and the state of what has not been assessed.",
    query: shapes.PlainQuery,
    answer: shapes.pageOf(shapes.PublicLevel),
    example: page(examples.level),
  }),
  open({
    id: "listPublicCapabilities",
    path: "/v1/public/capabilities",
    summary: "Capabilities taxonomy",
    description: "The slugs that `svc_capabilities` uses.",
    query: shapes.PlainQuery,
    answer: shapes.pageOf(shapes.PublicCapability),
    example: page(examples.capability),
  }),
];

const MODEL_FAULTS: readonly FaultCode[] = ["model_not_found", "model_not_permitted"];

const modelRoutes: readonly Route[] = [
  {
    id: "listModels",
    method: "GET",
    path: "/v1/models",
    access: { by: "key", scope: "inference:models" },
    intake: "none",
    counted: true,
    tag: "Models",
    summary: "List models the key may use",
    description:
      "Models with an endpoint that can be called now (provider connected, price known) and that the policy of the key and its workspace allows. The body serves readers of the chat-completions dialect (`data`), of the messages dialect (`display_name`, `has_more`, `last_id`) and coding agents of the responses dialect (`models`). Parameters that are not listed here are passed over, because model pickers add their own.",
    query: ModelListQuery,
    answer: { is: "json", status: 200, schema: ModelList, tagged: true },
    faults: [],
    example: { answer: examples.modelList },
  },
  {
    id: "getModel",
    method: "GET",
    path: "/v1/models/{id+}",
    access: { by: "key", scope: "inference:models" },
    intake: "none",
    counted: true,
    tag: "Models",
    summary: "One model",
    answer: { is: "json", status: 200, schema: ModelObject, tagged: true },
    faults: MODEL_FAULTS,
    example: { answer: examples.modelObject },
  },
];

/** The public catalogue and the models of a key. */
export const CATALOGUE_ROUTES: readonly Route[] = [...modelRoutes, ...publicRoutes];
