import { useManageMutation } from "../../api/hooks.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Menu } from "../../ui/menu.tsx";
import { toast } from "../../ui/toast.tsx";
import { Time } from "../../ui/values.tsx";
import { ChangeKey } from "./change-key.tsx";
import { RevokeKey, RotateKey } from "./end-key.tsx";
import { isEnded, type Key } from "./key.ts";

/** What is being done with a key, in a dialog. */
export type Doing = { readonly is: "change" | "rotate" | "revoke"; readonly subject: Key };

export function KeyDialog({
  doing,
  isAdmin,
  onClose,
}: {
  readonly doing: Doing;
  readonly isAdmin: boolean;
  readonly onClose: () => void;
}) {
  switch (doing.is) {
    case "change":
      return <ChangeKey subject={doing.subject} isAdmin={isAdmin} onClose={onClose} />;
    case "rotate":
      return <RotateKey subject={doing.subject} onClose={onClose} />;
    case "revoke":
      return <RevokeKey subject={doing.subject} onClose={onClose} />;
  }
}

/** What can be done with a key, behind three dots. */
export function KeyMenu({ subject, act }: { readonly subject: Key; readonly act: (doing: Doing) => void }) {
  if (isEnded(subject)) return null;
  return (
    <Menu
      label={`Actions for ${subject.name}`}
      className="relative z-1 inline-flex size-8 items-center justify-center rounded-md text-soft hover:bg-hover hover:text-ink"
      items={[
        { label: "Settings", icon: "edit", onSelect: () => act({ is: "change", subject }) },
        ...(subject.state === "active"
          ? [{ label: "Rotate", icon: "refresh" as const, onSelect: () => act({ is: "rotate", subject }) }]
          : []),
        { label: "Revoke", icon: "trash", danger: true, onSelect: () => act({ is: "revoke", subject }) },
      ]}
    />
  );
}

/** Personal keys that wait: an admin decides here, a member sees that they wait. */
export function Waiting({
  keys,
  isAdmin,
  act,
}: {
  readonly keys: readonly Key[];
  readonly isAdmin: boolean;
  readonly act: (doing: Doing) => void;
}) {
  const approve = useManageMutation("manageApproveKey", { onDone: ({ name }) => toast(`${name} works from now on.`) });
  if (keys.length === 0) return null;
  return (
    <section aria-label="Keys that wait for approval" className="mb-5 rounded-lg border border-warn/40 bg-warn-soft">
      <h2 className="flex items-center gap-2 px-4 pt-3 text-sm text-warn">
        <Icon name="clock" />
        {keys.length === 1 ? "One personal key waits" : `${keys.length} personal keys wait`} for approval
      </h2>
      <ul className="grid px-4 pb-3">
        {keys.map((subject) => (
          <li key={subject.id} className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 py-1.5">
            <span className="min-w-0 break-words">
              <span className="font-medium">{subject.name}</span> of {subject.member}, asked for{" "}
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
                <Button size="small" look="danger" onClick={() => act({ is: "revoke", subject })}>
                  Decline
                </Button>
              </span>
            ) : (
              <span className="text-soft">An admin or an owner has to approve it.</span>
            )}
          </li>
        ))}
      </ul>
      <ErrorNote error={approve.error} />
    </section>
  );
}
