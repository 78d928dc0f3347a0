import type { ComponentType } from "react";
import type { IconName } from "./ui/icon.tsx";

/** Groups of the sidebar, in their order. */
export const GROUPS = ["Build", "Observe", "Control", "Workspace", "Operator", "Account"] as const;
export type Group = (typeof GROUPS)[number];

/** Who sees a screen: anyone, whoever is signed in, from which role on in the workspace, or the operator. */
export type Viewer = "anyone" | "person" | "member" | "admin" | "owner" | "operator";

export type Screen = {
  /** The whole path, with `$name` for a parameter: `/app/w/$workspace/keys/$id`. */
  readonly path: string;
  readonly title: string;
  readonly load: () => Promise<{ readonly Screen: ComponentType }>;
  readonly allows: Viewer;
  /** A link in the sidebar; absent: reached from other screens only. */
  readonly nav?: { readonly group: Group; readonly icon: IconName };
  /** More words that the palette finds it by. */
  readonly words?: string;
  /** "bare": a card in the middle of the page, without the sidebar. */
  readonly frame?: "bare";
};
