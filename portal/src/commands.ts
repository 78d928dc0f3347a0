import type { Viewer } from "./screen.ts";
import type { IconName } from "./ui/icon.tsx";

/** A command of the palette: a place where the work starts, often a screen with its dialog open (`?new=1`). */
export type Command = {
  readonly label: string;
  readonly icon: IconName;
  readonly to: string;
  readonly allows: Viewer;
  readonly words?: string;
};

export const COMMANDS: readonly Command[] = [
  { label: "Create a key", icon: "key", to: "/app/w/$workspace/keys?new=1", allows: "member", words: "new api key" },
  {
    label: "Create a management token",
    icon: "token",
    to: "/app/w/$workspace/tokens?new=1",
    allows: "owner",
    words: "new automation",
  },
  {
    label: "Invite somebody",
    icon: "people",
    to: "/app/w/$workspace/members?new=1",
    allows: "admin",
    words: "new member",
  },
  {
    label: "Add a node",
    icon: "server",
    to: "/app/w/$workspace/nodes?new=1",
    allows: "admin",
    words: "new machine own hardware tunnel",
  },
  {
    label: "Design a router",
    icon: "route",
    to: "/app/w/$workspace/routers?new=1",
    allows: "admin",
    words: "new router weights",
  },
  {
    label: "Top up the wallet",
    icon: "wallet",
    to: "/app/w/$workspace/wallet?new=1",
    allows: "admin",
    words: "money credit pay order",
  },
  {
    label: "Set a spend limit",
    icon: "gauge",
    to: "/app/w/$workspace/limits?new=1",
    allows: "admin",
    words: "budget cap",
  },
];
