import { AGENTS } from "./agents.ts";
import { APPS } from "./apps.ts";
import type { Client } from "./client-kind.ts";
import { SDKS } from "./sdks.ts";

export const CLIENTS: readonly Client[] = [...AGENTS, ...SDKS, ...APPS];
export const KINDS = ["Coding agents", "Libraries", "Applications"] as const;
