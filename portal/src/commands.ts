import type { Viewer } from "./screen.ts";
import type { IconName } from "./ui/icon.tsx";

/** A command of the palette: navigates to a screen, often with a dialog open (`?new=1`). */
export type Command = {
  readonly label: string;
  readonly icon: IconName;
  readonly to: string;
  readonly visibleTo: Viewer;
  readonly searchTerms?: string;
};

export const COMMANDS: readonly Command[] = [
  {
    label: "Create key",
    icon: "key",
    to: "/app/w/$workspace/keys?new=1",
    visibleTo: "member",
    searchTerms: "new api key",
  },
  {
    label: "Create management token",
    icon: "token",
    to: "/app/w/$workspace/tokens?new=1",
    visibleTo: "owner",
    searchTerms: "new automation",
  },
  {
    label: "Invite member",
    icon: "people",
    to: "/app/w/$workspace/members?new=1",
    visibleTo: "admin",
    searchTerms: "new member",
  },
  {
    label: "Add node",
    icon: "server",
    to: "/app/w/$workspace/nodes?new=1",
    visibleTo: "admin",
    searchTerms: "new machine own hardware tunnel",
  },
  {
    label: "Create router",
    icon: "route",
    to: "/app/w/$workspace/routers?new=1",
    visibleTo: "admin",
    searchTerms: "new router weights",
  },
  {
    label: "Add funds",
    icon: "wallet",
    to: "/app/w/$workspace/wallet?new=1",
    // Members learn there whom to ask.
    visibleTo: "member",
    searchTerms: "money credit pay order top up",
  },
  {
    label: "Set spend limit",
    icon: "gauge",
    to: "/app/w/$workspace/limits?new=1",
    visibleTo: "admin",
    searchTerms: "budget cap",
  },
];
