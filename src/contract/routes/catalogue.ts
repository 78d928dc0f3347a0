import type { z } from "zod";
import type { FaultCode } from "../faults.ts";
import type { Route } from "../route.ts";
import * as shapes from "../schemas/catalogue.ts";
import * as details from "../schemas/catalogue-detail.ts";
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

/** What all public routes share: no key needed, nothing taken in, nothing counted. */
function open({ answer, example, ...spec }: CatalogueRouteSpec): Route {
  return {
    ...spec,
    method: "GET",
    access: { by: "anyone" },
    intake: "none",
    counted: false,
    tag: "Catalogue",
    answer: { is: "json", status: 200, schema: answer, tagged: true },
    compressed: true,
    faults: [],
    example: { answer: example },
  };
}

const AVAILABILITY =
  "With an API key (of the scope `inference:models`), or with `workspace` and a session of the portal or a management token, models and endpoints also tell whether the caller can call them now (`available`) and, if not, why. Such an answer includes the models of the workspace's nodes and is private; an answer without authentication is public. An invalid API key counts as none.";

/** Public routes that tell an authenticated caller what it can call. */
function openWithKey(spec: CatalogueRouteSpec): Route {
  const description = [spec.description, AVAILABILITY].filter((part) => part !== undefined).join(" ");
  const route = open({ ...spec, description });
  return {
    ...route,
    access: { by: "anyone", optionalKey: true },
    faults: ["not_found", "not_signed_in", "invalid_admin_token"],
  };
}

const page = (item: unknown) => ({ data: [item], next: null });

const FILTERING =
  "Filters on provider, level, country and surface select endpoints: a model is listed if one endpoint matches all of them, and only matching endpoints are shown.";

const publicRoutes: readonly Route[] = [
  openWithKey({
    id: "listPublicModels",
    path: "/v1/public/models",
    summary: "Browse the model catalogue",
    description: `Every model of the catalogue with its endpoints, whether or not this deployment can call them. ${FILTERING}`,
    query: shapes.ModelsQuery,
    answer: shapes.pageOf(shapes.PublicModel.or(shapes.PublicModelFields)),
    example: page(examples.model),
  }),
  openWithKey({
    id: "getPublicModel",
    path: "/v1/public/models/{slug+}",
    summary: "Show a catalogue model",
    description:
      "With a description, the evidence for the level of each endpoint, and the price history. Lists leave these out.",
    query: shapes.CurrencyQuery,
    answer: details.PublicModelDetail,
    example: examples.modelDetail,
  }),
  open({
    id: "listPublicFamilies",
    path: "/v1/public/families",
    summary: "List model families",
    description: "A family is listed if one of its models passes the filters; `q` searches the family's slug and name.",
    query: shapes.NamedQuery,
    answer: shapes.pageOf(shapes.PublicFamily),
    example: page(examples.family),
  }),
  open({
    id: "getPublicFamily",
    path: "/v1/public/families/{slug}",
    summary: "Show a family",
    query: shapes.NoQuery,
    answer: shapes.PublicFamily,
    example: examples.family,
  }),
  openWithKey({
    id: "listPublicFamilyModels",
    path: "/v1/public/families/{slug}/models",
    summary: "List the models of a family",
    description: FILTERING,
    query: shapes.ModelsQuery,
    answer: shapes.pageOf(shapes.PublicModel.or(shapes.PublicModelFields)),
    example: page(examples.model),
  }),
  open({
    id: "listPublicModelCreators",
    path: "/v1/public/model-creators",
    summary: "List model creators",
    description:
      "A creator is listed if one of its models passes the filters; `q` searches the creator's slug and name.",
    query: shapes.NamedQuery,
    answer: shapes.pageOf(shapes.PublicCreator),
    example: page(examples.creator),
  }),
  open({
    id: "getPublicModelCreator",
    path: "/v1/public/model-creators/{slug}",
    summary: "Show a creator",
    query: shapes.NoQuery,
    answer: shapes.PublicCreator,
    example: examples.creator,
  }),
  open({
    id: "listPublicProviders",
    path: "/v1/public/providers",
    summary: "List inference providers",
    description:
      "Operator, locations and jurisdiction of each provider; a single provider has the evidence. A provider is listed if one of its endpoints passes the filters; `q` searches the provider's slug and name.",
    query: shapes.NamedQuery,
    answer: shapes.pageOf(shapes.PublicProvider),
    example: page(examples.provider),
  }),
  openWithKey({
    id: "getPublicProvider",
    path: "/v1/public/providers/{slug}",
    summary: "Show a provider",
    description: "With all its endpoints: level, countries, retention, training, price and evidence of each.",
    query: shapes.CurrencyQuery,
    answer: details.PublicProviderDetail,
    example: examples.providerDetail,
  }),
  open({
    id: "listPublicCurrencies",
    path: "/v1/public/currencies",
    summary: "List currencies for catalogue prices",
    query: shapes.PlainQuery,
    answer: shapes.pageOf(shapes.PublicCurrency),
    example: page(examples.currency),
  }),
  open({
    id: "listPublicSovereigntyLevels",
    path: "/v1/public/sovereignty",
    summary: "List sovereignty levels",
    description: "The five levels, lowest first, and the state of endpoints that have not been assessed.",
    query: shapes.PlainQuery,
    answer: shapes.pageOf(shapes.PublicLevel),
    example: page(examples.level),
  }),
  open({
    id: "listPublicCapabilities",
    path: "/v1/public/capabilities",
    summary: "List capabilities",
    description: "The slugs used in `svc_capabilities`.",
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
    summary: "List models the key can use",
    description:
      "Models with an endpoint that can be called now (provider connected, price known) and that the policies of the key and its workspace allow. The body has the fields of the chat-completions dialect (`data`), of the messages dialect (`display_name`, `has_more`, `last_id`) and, for coding agents of the responses dialect, theirs (`models`). Unknown query parameters are ignored, because model pickers add their own.",
    query: ModelListQuery,
    answer: { is: "json", status: 200, schema: ModelList, tagged: true },
    compressed: true,
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
    summary: "Show a model",
    answer: { is: "json", status: 200, schema: ModelObject, tagged: true },
    compressed: true,
    faults: MODEL_FAULTS,
    example: { answer: examples.modelObject },
  },
];

/** The public catalogue and the models of a key. */
export const CATALOGUE_ROUTES: readonly Route[] = [...modelRoutes, ...publicRoutes];
