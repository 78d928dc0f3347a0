import type { ComponentType } from "react";
import type { IconName } from "./ui/icon.tsx";

/** Sidebar groups in display order. */
export const GROUPS = ["Build", "Observe", "Control", "Workspace", "Operator", "Account"] as const;
export type Group = (typeof GROUPS)[number];

/** Who sees a screen: anyone, a signed-in person, a minimum workspace role, or the operator. */
export type Viewer = "anyone" | "person" | "member" | "admin" | "owner" | "operator";

export type Screen = {
  /** The full path, with `$name` for a parameter: `/app/w/$workspace/keys/$id`. */
  readonly path: string;
  readonly title: string;
  readonly load: () => Promise<{ readonly Screen: ComponentType }>;
  readonly visibleTo: Viewer;
  /** Sidebar entry; absent: only linked from other screens. */
  readonly nav?: { readonly group: Group; readonly icon: IconName };
  /** Additional search terms for the palette. */
  readonly searchTerms?: string;
  /** "bare": a centered card without the sidebar. */
  readonly frame?: "bare";
};
