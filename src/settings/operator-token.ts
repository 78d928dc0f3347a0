import { z } from "zod";
import { pluralize } from "../kit/pluralize.ts";
import { duration, HEADER_SAFE_HINT, integer, isHeaderSafe, onOff, secretSetting, setting } from "./setting-types.ts";

/** A shorter operator token prevents the start. */
const CHARS_MIN = 24;
/** A shorter one causes a warning: 24 characters may be less than random. */
const CHARS_RECOMMENDED = 32;

const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i;

export const OPERATOR_TOKEN_SETTINGS = {
  GATEWAY_ADMIN_TOKEN: {
    ...secretSetting(
      `Operator token of the management API, at least ${CHARS_MIN} characters; below ${CHARS_RECOMMENDED} the start and \`gateway doctor\` warn. Default: generated at the first start and stored in DATA_DIR/admin-token.`,
    ),
    schema: z.string().refine(isHeaderSafe, HEADER_SAFE_HINT).nullable(),
  },
  GATEWAY_ADMIN_TOKEN_SHORT: setting(
    onOff,
    "off",
    `For development: on permits an operator token of fewer than ${CHARS_MIN} characters while HOST is a loopback address.`,
  ),
  GATEWAY_ADMIN_TOKEN_TRIES: setting(
    integer(1, 1_000_000),
    10,
    "Wrong tokens that one IP address may send to the management API in a burst; they refill within GATEWAY_ADMIN_TOKEN_WINDOW, and further attempts get 429.",
  ),
  GATEWAY_ADMIN_TOKEN_WINDOW: setting(duration, "15m", "Time in which GATEWAY_ADMIN_TOKEN_TRIES refill."),
} as const;

type TokenRules = { readonly HOST: string; readonly GATEWAY_ADMIN_TOKEN_SHORT: "on" | "off" };

/** Why the gateway must not start with this operator token. `source` is where to change it. */
export function operatorTokenProblem(token: string, source: string, rules: TokenRules): string | undefined {
  if (token.length >= CHARS_MIN) return undefined;
  const shown = `${source}: it has only ${pluralize(token.length, "character")}; it needs at least ${CHARS_MIN}, for example from \`openssl rand -hex 32\``;
  if (rules.GATEWAY_ADMIN_TOKEN_SHORT === "off")
    return `${shown}. For development on loopback, GATEWAY_ADMIN_TOKEN_SHORT=on permits it`;
  if (LOOPBACK_HOST.test(rules.HOST)) return undefined;
  return `${shown}. GATEWAY_ADMIN_TOKEN_SHORT=on permits it only while HOST is a loopback address, and HOST is ${rules.HOST}`;
}

/** A token that is long enough to start with, but shorter than recommended; or short and permitted. */
export function operatorTokenWarning(token: string): string | undefined {
  if (token.length >= CHARS_RECOMMENDED) return undefined;
  return `GATEWAY_ADMIN_TOKEN: it has only ${pluralize(token.length, "character")}; use at least ${CHARS_RECOMMENDED}, for example from \`openssl rand -hex 32\``;
}
