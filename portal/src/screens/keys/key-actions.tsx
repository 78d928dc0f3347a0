import { useManageMutation } from "../../api/hooks.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Menu } from "../../ui/menu.tsx";
import { toast } from "../../ui/toast.tsx";
import { Time } from "../../ui/values.tsx";
import { EditKey } from "./edit-key.tsx";
import { isInactive, type Key, type Limits } from "./key.ts";
import { RevokeKey, RotateKey } from "./revoke-rotate-key.tsx";

/** The open dialog of a key. */
export type KeyAction = { readonly kind: "change" | "rotate" | "revoke"; readonly subject: Key };

export function KeyDialog({
  action,
  limits,
  isAdmin,
  onClose,
}: {
  readonly action: KeyAction;
  readonly limits: Limits | undefined;
  readonly isAdmin: boolean;
  readonly onClose: () => void;
}) {
  switch (action.kind) {
    case "change":
      return <EditKey subject={action.subject} limits={limits} isAdmin={isAdmin} onClose={onClose} />;
    case "rotate":
      return <RotateKey subject={action.subject} onClose={onClose} />;
    case "revoke":
      return <RevokeKey subject={action.subject} onClose={onClose} />;
  }
}

export function KeyMenu({ subject, act }: { readonly subject: Key; readonly act: (action: KeyAction) => void }) {
  if (isInactive(subject)) return null;
  return (
    <Menu
      label={`Actions for ${subject.name}`}
      className="relative z-1 inline-flex size-8 items-center justify-center rounded-md text-soft hover:bg-hover hover:text-ink"
      items={[
        { label: "Edit", icon: "edit", onSelect: () => act({ kind: "change", subject }) },
        ...(subject.state === "active"
          ? [{ label: "Rotate", icon: "refresh" as const, onSelect: () => act({ kind: "rotate", subject }) }]
          : []),
        { label: "Revoke", icon: "trash", danger: true, onSelect: () => act({ kind: "revoke", subject }) },
      ]}
    />
  );
}

export function PendingKeys({
  keys,
  isAdmin,
  act,
}: {
  readonly keys: readonly Key[];
  readonly isAdmin: boolean;
  readonly act: (action: KeyAction) => void;
}) {
  const approve = useManageMutation("manageApproveKey", { onDone: ({ name }) => toast(`${name} approved`) });
  if (keys.length === 0) return null;
  return (
    <section aria-label="Keys waiting for approval" className="mb-5 rounded-lg border border-warn/40 bg-warn-soft">
      <h2 className="flex items-center gap-2 px-4 pt-3 text-sm text-warn">
        <Icon name="clock" />
        {keys.length === 1 ? "1 personal key is" : `${keys.length} personal keys are`} waiting for approval
      </h2>
      <ul className="grid px-4 pb-3">
        {keys.map((subject) => (
          <li key={subject.id} className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 py-1.5">
            <span className="min-w-0 break-words">
              <span className="font-medium">{subject.name}</span> for {subject.member}, requested{" "}
              <Time at={subject.created_at} />
            </span>
            {isAdmin ? (
              <span className="flex gap-2">
                <Button
                  size="small"
                  busy={approve.isPending && approve.variables.params.id === subject.id}
                  onClick={() => approve.mutate({ params: { id: subject.id } })}
                >
                  Approve
                </Button>
                <Button size="small" variant="danger" onClick={() => act({ kind: "revoke", subject })}>
                  Decline
                </Button>
              </span>
            ) : (
              <span className="text-soft">An admin or owner needs to approve this key.</span>
            )}
          </li>
        ))}
      </ul>
      <ErrorNote error={approve.error} />
    </section>
  );
}
