import { Autocomplete } from "@base-ui/react/autocomplete";
import { useMemo, useState } from "react";
import type { Me } from "../api/me.ts";
import { COMMANDS } from "../commands.ts";
import { SCREENS } from "../screens.ts";
import { Icon, type IconName } from "../ui/icon.tsx";
import { Modal } from "../ui/modal.tsx";
import { pathIn, useNavigateTo } from "../url-state.ts";
import { useSignOut } from "./account-menu.tsx";
import { canView } from "./can-view.ts";
import { linksFor, screenPath } from "./navigation.tsx";
import { setTheme } from "./theme.ts";

type Entry = {
  readonly id: string;
  readonly label: string;
  readonly hint: string;
  readonly icon: IconName;
  readonly searchTerms: string;
  readonly act: () => void;
};
type Props = {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onHelp: () => void;
  readonly me: Me | null;
  readonly workspace: string;
};

/** Searches screens, workspaces and commands; a request ID opens the request. */
export function Palette(props: Props) {
  return (
    <Modal
      open={props.isOpen}
      onClose={props.onClose}
      label="Search and commands"
      place="top"
      className="w-full max-w-xl rounded-lg border"
    >
      <PaletteSearch {...props} />
    </Modal>
  );
}

function PaletteSearch({ onClose, onHelp, me, workspace }: Props) {
  const [typed, setTyped] = useState("");
  const all = useEntries(me, workspace, onHelp);
  const openRequest = useRequestEntry(typed, workspace);
  const found = useMemo(
    () => (openRequest === undefined ? matchEntries(all, typed) : [openRequest]),
    [all, typed, openRequest],
  );
  const act = (entry: Entry) => {
    onClose();
    entry.act();
  };
  return (
    <Autocomplete.Root
      inline
      open
      items={found}
      filteredItems={found}
      itemToStringValue={({ label }: Entry) => label}
      value={typed}
      onValueChange={(text, { reason }) => reason === "input-change" && setTyped(text)}
      autoHighlight="always"
      keepHighlight
    >
      <div className="flex items-center gap-3 border-b px-4">
        <Icon name="search" className="text-soft" />
        <Autocomplete.Input
          aria-label="Search and commands"
          placeholder="Search screens, workspaces, commands or a request ID"
          className="h-12 min-w-0 flex-1 bg-transparent text-base outline-none"
        />
      </div>
      <Autocomplete.Empty>
        <p className="px-4 py-6 text-center text-soft">No results. Try another search.</p>
      </Autocomplete.Empty>
      <Autocomplete.List
        aria-label="Results"
        className="max-h-[50dvh] scroll-py-1.5 overflow-auto overscroll-contain p-1.5 empty:hidden"
      >
        {(entry: Entry) => (
          <Autocomplete.Item
            key={entry.id}
            value={entry}
            onClick={() => act(entry)}
            className="flex h-9 cursor-pointer items-center gap-3 rounded-md px-2.5 select-none data-highlighted:bg-accent-soft data-highlighted:text-accent-strong pointer-coarse:h-11"
          >
            <Icon name={entry.icon} className="text-soft" />
            <span className="min-w-0 flex-1 truncate">{entry.label}</span>
            <span className="text-xs text-soft">{entry.hint}</span>
          </Autocomplete.Item>
        )}
      </Autocomplete.List>
    </Autocomplete.Root>
  );
}

function useEntries(me: Me | null, workspace: string, onHelp: () => void): Entry[] {
  const navigateTo = useNavigateTo();
  const signOut = useSignOut();
  return useMemo(() => {
    const entry = (
      id: string,
      label: string,
      hint: string,
      icon: IconName,
      act: () => void,
      searchTerms = "",
    ): Entry => ({
      id,
      label,
      hint,
      icon,
      act,
      searchTerms,
    });
    const linked = linksFor(me, workspace).flatMap(({ group, links }) =>
      links.map(({ screen, to }) =>
        entry(
          `screen-${to}`,
          screen.title,
          group,
          screen.nav?.icon ?? "arrow",
          () => navigateTo(to),
          screen.searchTerms,
        ),
      ),
    );
    // Screens without a sidebar entry that need no further parameters.
    const inner = SCREENS.flatMap((screen) => {
      const to = screenPath(screen, workspace);
      const isInner =
        screen.nav === undefined && screen.searchTerms !== undefined && canView(screen.visibleTo, me, workspace);
      if (!isInner || to === undefined) return [];
      return [entry(`screen-${to}`, screen.title, "Screen", "arrow", () => navigateTo(to), screen.searchTerms)];
    });
    const screens = [...linked, ...inner];
    const commands = COMMANDS.filter(
      (one) => canView(one.visibleTo, me, workspace) && (!one.to.includes("$workspace") || workspace !== ""),
    ).map((one) => {
      const to = one.to.replace("/app/w/$workspace", pathIn(workspace));
      return entry(`command-${one.to}`, one.label, "Command", one.icon, () => navigateTo(to), one.searchTerms ?? "");
    });
    const workspaces = (me?.workspaces ?? []).map((one) =>
      entry(`workspace-${one.slug}`, one.name, "Workspace", "grid", () => navigateTo(pathIn(one.slug)), one.slug),
    );
    const general = [
      entry("theme-light", "Light theme", "Theme", "sun", () => setTheme("light")),
      entry("theme-dark", "Dark theme", "Theme", "moon", () => setTheme("dark")),
      entry("theme-system", "System theme", "Theme", "screen", () => setTheme("system")),
      entry("help", "Help and shortcuts", "Help", "help", onHelp, "keyboard"),
      entry("guides", "Guides", "Docs", "book", () => location.assign("/docs/guides"), "documentation help"),
      entry("docs", "API reference", "Docs", "scroll", () => location.assign("/docs"), "openapi"),
      entry(
        "docs-manage",
        "Management API reference",
        "Docs",
        "scroll",
        () => location.assign("/docs?api=manage"),
        "openapi",
      ),
      me === null
        ? entry("sign-in", "Sign in", "Account", "person", () => navigateTo("/app/sign-in"))
        : entry("sign-out", "Sign out", "Account", "out", signOut, "log out"),
    ];
    return [...screens, ...commands, ...workspaces, ...general];
  }, [me, workspace, navigateTo, onHelp, signOut]);
}

/** An entry for input that looks like a request ID. */
function useRequestEntry(typed: string, workspace: string): Entry | undefined {
  const navigateTo = useNavigateTo();
  const id = typed.trim();
  return useMemo(() => {
    if (!/^(?:req_|chatcmpl-|msg_|resp_)[A-Za-z0-9]{6,}$/.test(id) || workspace === "") return undefined;
    const act = () => navigateTo(pathIn(workspace, `requests/${encodeURIComponent(id)}`));
    return { id: "request", label: id, hint: "Open request", icon: "list", searchTerms: "", act };
  }, [id, workspace, navigateTo]);
}

/** Every typed word must be a prefix of a word of the entry; label matches come first. */
function matchEntries(all: readonly Entry[], typed: string): Entry[] {
  const searchTerms = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (searchTerms.length === 0) return [...all];
  const text = (entry: Entry) => ` ${entry.label} ${entry.hint} ${entry.searchTerms}`.toLowerCase();
  const isFirst = (entry: Entry) => Number(entry.label.toLowerCase().startsWith(searchTerms[0] ?? ""));
  return all
    .filter((entry) => searchTerms.every((word) => text(entry).includes(` ${word}`)))
    .toSorted((a, b) => isFirst(b) - isFirst(a));
}
