import { type Logger, pino } from "pino";

export type { Logger };

const REDACTED_PATHS = [
  "authorization",
  "*.authorization",
  "token",
  "*.token",
  "key",
  "*.key",
  "apiKey",
  "*.apiKey",
  "secret",
  "*.secret",
];

/** JSON lines on stderr; stdout is for the banner and CLI output. */
export function createLogger(level: string): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: REDACTED_PATHS, censor: "[redacted]" },
    },
    pino.destination({ dest: 2, sync: true }),
  );
}
