import { ALERT_ROUTES } from "./manage/alerts.ts";
import { CACHE_ROUTES } from "./manage/cache.ts";
import { CAPTURE_ROUTES } from "./manage/capture.ts";
import { DATA_CLASS_ROUTES } from "./manage/data-classes.ts";
import { EVIDENCE_ROUTES } from "./manage/evidence.ts";
import { KEY_ROUTES } from "./manage/keys.ts";
import { LIMIT_ROUTES } from "./manage/limits.ts";
import { LOG_ROUTES } from "./manage/log.ts";
import { MASTER_KEY_ROUTES } from "./manage/master-key.ts";
import { MONEY_ROUTES } from "./manage/money.ts";
import { NODE_ROUTES } from "./manage/nodes.ts";
import { OPERATOR_ROUTES } from "./manage/operator.ts";
import { POLICY_ROUTES } from "./manage/policy.ts";
import { PROOF_ROUTES } from "./manage/proofs.ts";
import { PROVIDER_ROUTES } from "./manage/providers.ts";
import { RATE_ROUTES } from "./manage/rates.ts";
import { RECORD_ROUTES } from "./manage/records.ts";
import { RESPONSE_ROUTES } from "./manage/responses.ts";
import { ROUTING_ROUTES } from "./manage/routing.ts";
import { TOKEN_ROUTES } from "./manage/tokens.ts";
import { WORKSPACE_ROUTES } from "./manage/workspaces.ts";

/** The management API: everything an operator can do, used by the command line and the portal alike. */
export const MANAGE_ROUTES = [
  ...WORKSPACE_ROUTES,
  ...POLICY_ROUTES,
  ...DATA_CLASS_ROUTES,
  ...KEY_ROUTES,
  ...ROUTING_ROUTES,
  ...LIMIT_ROUTES,
  ...RATE_ROUTES,
  ...ALERT_ROUTES,
  ...RECORD_ROUTES,
  ...MONEY_ROUTES,
  ...LOG_ROUTES,
  ...PROVIDER_ROUTES,
  ...NODE_ROUTES,
  ...PROOF_ROUTES,
  ...RESPONSE_ROUTES,
  ...CACHE_ROUTES,
  ...CAPTURE_ROUTES,
  ...EVIDENCE_ROUTES,
  ...MASTER_KEY_ROUTES,
  ...TOKEN_ROUTES,
  ...OPERATOR_ROUTES,
];
